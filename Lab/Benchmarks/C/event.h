// The events that are sent: a payload of exactly the wanted size, or if encrypted of up to 3 bytes less.
#pragma once

#include <openssl/sha.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { MAXIMUM_PAYLOAD = 60000 };

static const unsigned char MASTER_KEY[] = "the 32 bytes of our master key..";

static inline void put_channel_name(char *out, long index, int encrypted) {
    sprintf(out, "%sc%ld", encrypted ? "private-encrypted-" : "", index);
}

// JSON of `size` bytes, at least 9, whose quotes are `escape`: a number and texts of up to 150 bytes, as many as fit.
static inline void put_data(char *out, size_t size, const char *escape) {
    const char *end = out + size - 1;
    long quotes = 4 * strlen(escape);
    char *at = out + sprintf(out, "{%sv%s:1", escape, escape);
    if (end - at >= 12 + quotes) at += sprintf(at, ",%ssymbol%s:%sACME%s", escape, escape, escape, escape);
    for (int number = 0; end - at >= 6 + quotes; number++) {
        at += sprintf(at, ",%st%03d%s:%s", escape, number, escape, escape);
        long room = end - at - strlen(escape);
        long text = room < 200 ? room : 150;
        memset(at, 'x', text);
        at += text + sprintf(at + text, "%s", escape);
    }
    sprintf(at, "%*s", (int)(end - at + 1), "}");
}

// Nonce and box of `size` bytes of data on an encrypted channel.
struct sealed {
    unsigned char nonce[crypto_secretbox_NONCEBYTES];
    unsigned char box[MAXIMUM_PAYLOAD];
    size_t size;
};

static inline void derive_key(unsigned char *key, const char *channel) {
    unsigned char text[256];
    size_t length = strlen(channel);
    memcpy(text, channel, length);
    memcpy(text + length, MASTER_KEY, 32);
    SHA256(text, length + 32, key);
}

static inline void seal(struct sealed *sealed, const char *channel, size_t size) {
    static char data[MAXIMUM_PAYLOAD];
    unsigned char key[32];
    put_data(data, size, "\"");
    derive_key(key, channel);
    randombytes_buf(sealed->nonce, sizeof sealed->nonce);
    crypto_secretbox_easy(sealed->box, (unsigned char *)data, strlen(data), sealed->nonce, key);
    sealed->size = strlen(data) + crypto_secretbox_MACBYTES;
}

// The size of the data that makes an encrypted event of up to `size` bytes.
static inline size_t sealed_data_size(const char *channel, size_t size) {
    size_t frame = strlen("{'event':'tick','channel':'','data':'{--nonce--:----,--ciphertext--:----}'}")
        + strlen(channel) + 32;
    return (size - frame) / 4 * 3 - crypto_secretbox_MACBYTES;
}

static inline char *put_base64(char *out, const unsigned char *bytes, size_t count) {
    sodium_bin2base64(out, sodium_base64_ENCODED_LEN(count, sodium_base64_VARIANT_ORIGINAL), bytes, count,
        sodium_base64_VARIANT_ORIGINAL);
    return out + strlen(out);
}

static inline void put_event(char *out, size_t size, long index, int encrypted) {
    char channel[64];
    put_channel_name(channel, index, encrypted);
    char *at = out + sprintf(out, "{\"event\":\"tick\",\"channel\":\"%s\",\"data\":\"", channel);
    if (encrypted) {
        static struct sealed sealed;
        seal(&sealed, channel, sealed_data_size(channel, size));
        at += sprintf(at, "{\\\"nonce\\\":\\\"");
        at = put_base64(at, sealed.nonce, sizeof sealed.nonce);
        at += sprintf(at, "\\\",\\\"ciphertext\\\":\\\"");
        at = put_base64(at, sealed.box, sealed.size);
        at += sprintf(at, "\\\"}");
    } else {
        size_t room = size - (at - out) - 2;
        put_data(at, room, "\\\"");
        at += room;
    }
    strcpy(at, "\"}");
}
