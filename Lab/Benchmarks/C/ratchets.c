// What the primitives of Olm and Megolm cost with libcrypto and libsodium, without messages, base64 or state.
//
//     ratchets MESSAGES SIZE     SIZE is that of the text
//
// Contexts and keys are kept, and everything is in one buffer: less cannot be done for a message.
#include "websocket.h"
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sodium.h>

enum { MOST = 4096 };

static EVP_MD_CTX *digest;
static EVP_MD *sha256;
static EVP_CIPHER_CTX *aes;
static EVP_CIPHER *cbc;

// By hand: libcrypto's own takes longer.
static void hmac(unsigned char out[32], const unsigned char *key, const void *text, size_t size) {
    unsigned char inner[64], outer[64];
    memset(inner, 0x36, sizeof inner), memset(outer, 0x5C, sizeof outer);
    for (int index = 0; index < 32; index++) inner[index] ^= key[index], outer[index] ^= key[index];
    if (EVP_DigestInit_ex(digest, sha256, NULL) != 1 || EVP_DigestUpdate(digest, inner, 64) != 1
        || EVP_DigestUpdate(digest, text, size) != 1 || EVP_DigestFinal_ex(digest, out, NULL) != 1
        || EVP_DigestInit_ex(digest, sha256, NULL) != 1 || EVP_DigestUpdate(digest, outer, 64) != 1
        || EVP_DigestUpdate(digest, out, 32) != 1 || EVP_DigestFinal_ex(digest, out, NULL) != 1) fail("SHA-256");
}

static void hkdf(unsigned char *out, int blocks, const unsigned char *secret, size_t size, const char *info) {
    static const unsigned char salt[32];
    unsigned char key[32], input[64];
    hmac(key, salt, secret, size);
    size_t length = strlen(info), before = 0;
    for (int block = 0; block < blocks; block++) {
        if (block > 0) memcpy(input, out + 32 * (block - 1), before = 32);
        memcpy(input + before, info, length);
        input[before + length] = block + 1;
        hmac(out + 32 * block, key, input, before + length + 1);
    }
}

// The keys of one message, its text, and the code over all of it.
static int cipher(int encrypts, unsigned char *out, const unsigned char *in, int size, const unsigned char *secret,
    size_t secret_size, const char *info, unsigned char code[32]) {
    unsigned char keys[96];
    int count, rest;
    hkdf(keys, 3, secret, secret_size, info);
    if (!encrypts) hmac(code, keys + 32, in, size);
    if (EVP_CipherInit_ex2(aes, cbc, keys, keys + 64, encrypts, NULL) != 1
        || EVP_CipherUpdate(aes, out, &count, in, size) != 1 || EVP_CipherFinal_ex(aes, out + count, &rest) != 1)
        fail("AES");
    if (encrypts) hmac(code, keys + 32, out, count + rest);
    return count + rest;
}

static EVP_PKEY *pair(unsigned char public[32]) {
    unsigned char private[32];
    size_t count = 32;
    RAND_priv_bytes(private, sizeof private);
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private, 32);
    if (!key || EVP_PKEY_get_raw_public_key(key, public, &count) != 1) fail("X25519");
    return key;
}

static void agree(unsigned char secret[32], EVP_PKEY *key, const unsigned char public[32]) {
    size_t count = 32;
    EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, public, 32);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    if (EVP_PKEY_derive_init(context) != 1 || EVP_PKEY_derive_set_peer(context, peer) != 1
        || EVP_PKEY_derive(context, secret, &count) != 1) fail("X25519");
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(peer);
}

static unsigned char text[MOST], sealed[MOST + 16], opened[MOST + 16], code[32];

int main(int argc, char **argv) {
    if (argc != 3 || sodium_init() < 0) return 64;
    long messages = atol(argv[1]), opens = messages / 20 + 1;
    int size = atoi(argv[2]), count = 0;
    if (size > MOST) return 64;
    memset(text, 'x', size);
    digest = EVP_MD_CTX_new();
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    aes = EVP_CIPHER_CTX_new();
    cbc = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    unsigned char seed[32] = {1}, public[32], private[64], signature[64], ratchet[128] = {2}, last[128];
    unsigned char chain[32] = {3}, key[32];
    crypto_sign_seed_keypair(public, private, seed);
    EVP_PKEY *signer = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);

    double start = cpu_seconds();
    for (long index = 0; index < messages; index++) {
        memcpy(last, ratchet, sizeof last);
        count = cipher(1, sealed, text, size, last, sizeof last, "MEGOLM_KEYS", code);
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        size_t length = sizeof signature;
        if (EVP_DigestSignInit(context, NULL, NULL, NULL, signer) != 1
            || EVP_DigestSign(context, signature, &length, sealed, count) != 1) fail("Ed25519");
        EVP_MD_CTX_free(context);
        hmac(ratchet + 96, ratchet + 96, "\x03", 1);
    }
    double megolm_encrypt = cpu_seconds();
    for (long index = 0; index < messages; index++) {
        if (crypto_sign_verify_detached(signature, sealed, count, public) != 0) fail("a signature");
        hmac(key, ratchet + 96, "\x03", 1);
        cipher(0, opened, sealed, count, last, sizeof last, "MEGOLM_KEYS", code);
    }
    double megolm_decrypt = cpu_seconds();
    for (long index = 0; index < messages; index++) {
        hmac(key, chain, "\x01", 1);
        hmac(chain, chain, "\x02", 1);
        count = cipher(1, sealed, text, size, key, 32, "OLM_KEYS", code);
    }
    double olm_encrypt = cpu_seconds();
    for (long index = 0; index < messages; index++) {
        unsigned char same[32];
        hmac(same, chain, "\x01", 1);
        hmac(opened, chain, "\x02", 1);
        cipher(0, opened, sealed, count, key, 32, "OLM_KEYS", code);
    }
    double olm_decrypt = cpu_seconds();
    unsigned char identity[2][32], one_time[32], base[32], turn[32], secret[96], root[64];
    EVP_PKEY *ours = pair(identity[0]), *theirs = pair(identity[1]), *theirs_once = pair(one_time);
    for (long index = 0; index < opens; index++) {
        EVP_PKEY *mine = pair(base), *turning = pair(turn);
        agree(secret, ours, one_time), agree(secret + 32, mine, identity[1]), agree(secret + 64, mine, one_time);
        hkdf(root, 2, secret, sizeof secret, "OLM_ROOT");
        hmac(key, root + 32, "\x01", 1), hmac(chain, root + 32, "\x02", 1);
        count = cipher(1, sealed, text, size, key, 32, "OLM_KEYS", code);
        agree(secret, theirs_once, identity[0]), agree(secret + 32, theirs, base);
        agree(secret + 64, theirs_once, base);
        hkdf(root, 2, secret, sizeof secret, "OLM_ROOT");
        hmac(key, root + 32, "\x01", 1), hmac(chain, root + 32, "\x02", 1);
        cipher(0, opened, sealed, count, key, 32, "OLM_KEYS", code);
        EVP_PKEY_free(mine), EVP_PKEY_free(turning);
    }
    double olm_open = cpu_seconds();
    printf("{\"megolm_encrypt\":%.9f,\"megolm_decrypt\":%.9f,\"olm_encrypt\":%.9f,\"olm_decrypt\":%.9f,"
        "\"olm_open\":%.9f}\n", (megolm_encrypt - start) / messages, (megolm_decrypt - megolm_encrypt) / messages,
        (olm_encrypt - megolm_decrypt) / messages, (olm_decrypt - olm_encrypt) / messages,
        (olm_open - olm_decrypt) / opens);
}
