// What libsodium takes to open the boxes of encrypted events: alone, and with the base64 in which they come.
//
//     box SIZE EVENTS        SIZE is that of the whole event, as for `source`
#include "event.h"
#include "websocket.h"

int main(int argc, char **argv) {
    if (argc != 3 || sodium_init() < 0) return 64;
    long events = atol(argv[2]);
    char channel[64];
    put_channel_name(channel, 0, 1);
    unsigned char key[32], nonce[crypto_secretbox_NONCEBYTES];
    derive_key(key, channel);
    static struct sealed sealed;
    seal(&sealed, channel, sealed_data_size(channel, atol(argv[1])));
    static char nonce_text[64], box_text[2 * MAXIMUM_PAYLOAD];
    static unsigned char box[MAXIMUM_PAYLOAD], text[MAXIMUM_PAYLOAD];
    put_base64(nonce_text, sealed.nonce, sizeof nonce);
    put_base64(box_text, sealed.box, sealed.size);

    double start = cpu_seconds();
    for (long index = 0; index < events; index++) {
        if (crypto_secretbox_open_easy(text, sealed.box, sealed.size, sealed.nonce, key) != 0) return 65;
    }
    double opened = cpu_seconds();
    for (long index = 0; index < events; index++) {
        size_t size;
        if (sodium_base642bin(nonce, sizeof nonce, nonce_text, strlen(nonce_text), NULL, NULL, NULL,
                sodium_base64_VARIANT_ORIGINAL) != 0
            || sodium_base642bin(box, sizeof box, box_text, strlen(box_text), NULL, &size, NULL,
                sodium_base64_VARIANT_ORIGINAL) != 0
            || crypto_secretbox_open_easy(text, box, size, nonce, key) != 0) return 65;
    }
    printf("{\"events\":%ld,\"open_cpu_seconds\":%.6f,\"base64_and_open_cpu_seconds\":%.6f}\n", events,
        opened - start, cpu_seconds() - opened);
}
