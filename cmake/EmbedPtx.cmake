# cmake -DNAME= -DFILE= -DPTX= -DOUT= -DSOURCE_DIR= -P EmbedPtx.cmake: PTX text to a C++ source that
# defines gpuemu::kernels::k_NAME. A string literal may hold 64 KiB, so the text becomes several.
file(READ ${PTX} text)
# The PTX must not depend on where it was built.
string(REPLACE "${SOURCE_DIR}/" "" text "${text}")
string(LENGTH "${text}" length)
set(literals "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 12000 piece)
  string(APPEND literals "R\"ptx(${piece})ptx\"\n")
  math(EXPR at "${at} + 12000")
endwhile()
file(WRITE ${OUT} "// Made from ${FILE}; do not edit.
#include \"kernels/catalog.h\"

namespace gpuemu::kernels {
extern const BuiltinKernel k_${NAME};
const BuiltinKernel k_${NAME} = {\"${NAME}\",
${literals},
\"${FILE}\"};
}  // namespace gpuemu::kernels
")
