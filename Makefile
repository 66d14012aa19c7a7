# Verbs only; `make help` lists them.
.PHONY: build test tidy format asan tsan fuzz help
build: ; cmake --preset release && ninja -C build/release
test: ; scripts/test.sh
tidy: ; python3 tools/tidy.py
format: ; scripts/sources.sh '*.cc' '*.h' '*.inc' | xargs clang-format-19 -i
asan: ; cmake --preset asan && ninja -C build/asan all tests && ctest --preset asan
tsan: ; cmake --preset tsan && ninja -C build/tsan all tests && ctest --preset tsan
fuzz: ; scripts/fuzz.sh 10
help: ; @grep -oE '^[a-z-]+:' Makefile | tr -d ':'
