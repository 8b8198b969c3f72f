// libsodium's secretbox (XSalsa20 and Poly1305), its check of Ed25519 signatures, and memory that is wiped.
#pragma once
#include <sodium.h>
