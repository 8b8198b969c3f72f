// libsodium's secretbox: XSalsa20 and Poly1305.
#pragma once
#include <sodium.h>
