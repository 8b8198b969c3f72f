// The floor: what receiving costs with libcurl and nothing but cutting frames. No UTF-8 check, no JSON, no dispatch.
//
//     floor PORT             prints {"events":…,"cpu_seconds":…}
#include <curl/curl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void send_text(CURL *curl, const char *text) {
    unsigned char out[1024];
    size_t count = strlen(text), sent;
    out[0] = 0x81;
    out[1] = 0x80 | count;
    memset(out + 2, 0, 4);  // a mask of zeros changes nothing
    memcpy(out + 6, text, count);
    curl_easy_send(curl, out, 6 + count, &sent);
}

int main(int argc, char **argv) {
    if (argc != 2) return 64;
    char url[64], request[512];
    snprintf(url, sizeof url, "http://127.0.0.1:%s/", argv[1]);
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (curl_easy_perform(curl) != CURLE_OK) return 69;
    curl_socket_t fd;
    curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd);
    snprintf(request, sizeof request,
        "GET /app/key HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    size_t count;
    curl_easy_send(curl, request, strlen(request), &count);

    static unsigned char buffer[(64 << 10) + 65536];
    size_t have = 0;
    long frames = 0;
    unsigned long long payload = 0;
    int opened = 0, subscribed = 0;
    double start = 0;
    while (1) {
        CURLcode result = curl_easy_recv(curl, buffer + have, 64 << 10, &count);
        if (result == CURLE_AGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLIN};
            poll(&wait, 1, -1);
            continue;
        }
        if (result != CURLE_OK || count == 0) return 69;
        have += count;
        size_t at = 0;
        if (!opened) {
            unsigned char *end = memmem(buffer, have, "\r\n\r\n", 4);
            if (!end) continue;
            at = end + 4 - buffer;
            opened = 1;
        }
        while (have - at >= 2) {
            size_t length = buffer[at + 1] & 0x7F, head = 2;
            if (length == 126) {
                if (have - at < 4) break;
                length = buffer[at + 2] << 8 | buffer[at + 3];
                head = 4;
            }
            if (have - at < head + length) break;
            at += head + length;
            payload += length;
            frames++;
            if (!subscribed) {
                subscribed = 1;
                send_text(curl, "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"bench\"}}");
            } else if (frames == 3) {
                start = cpu_seconds();  // the first event
            } else if (frames > 3 && length < 100) {  // done
                printf("{\"events\":%ld,\"cpu_seconds\":%.6f}\n", frames - 3, cpu_seconds() - start);
                return payload == 0;
            }
        }
        memmove(buffer, buffer + at, have - at);
        have -= at;
    }
}
