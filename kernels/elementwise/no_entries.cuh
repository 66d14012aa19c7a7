// Behind this the text of a module gives its functions and no entries, so that another source can
// use them.
#pragma once

#undef GPUEMU_ENTRIES
#undef GPUEMU_ENTRIES_UP_TO_32_BITS
#undef GPUEMU_ENTRY
#define GPUEMU_ENTRIES(...)
#define GPUEMU_ENTRIES_UP_TO_32_BITS(...)
#define GPUEMU_ENTRY(...)
