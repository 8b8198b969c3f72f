// zlib's deflate and inflate.
#pragma once
#include <zlib.h>
