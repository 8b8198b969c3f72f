// The floor: what subscribing and receiving cost with libcurl and nothing but cutting frames. No UTF-8 check, no JSON,
// no dispatch.
//
//     floor PORT CHANNELS EVENTS [CA_FILE]       with a CA file over TLS
//
// Subscribes to `c0`, `c1` …, and counts events.
#include "websocket.h"
#include <curl/curl.h>
#include <poll.h>

int main(int argc, char **argv) {
    if (argc != 4 && argc != 5) return 64;
    long channels = atol(argv[2]), events = atol(argv[3]);
    char url[64];
    snprintf(url, sizeof url, "%s://127.0.0.1:%s/", argc == 5 ? "https" : "http", argv[1]);
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (argc == 5) curl_easy_setopt(curl, CURLOPT_CAINFO, argv[4]);
    double start = cpu_seconds();
    int64_t begin = nanoseconds();
    if (curl_easy_perform(curl) != CURLE_OK) fail("connect");
    curl_socket_t fd;
    curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd);

    // All that there is to send.
    char *out = malloc(sizeof REQUEST + channels * 100);
    size_t to_send = strlen(REQUEST), sent = 0, count;
    memcpy(out, REQUEST, to_send);
    for (long index = 0; index < channels; index++) {
        char channel[32];
        sprintf(channel, "c%ld", index);
        to_send += put_subscription(out + to_send, channel);
    }

    static char buffer[2 * 65536];
    size_t have = 0;
    int is_open = 0;
    long frames = 0, before = 1 + channels;  // connection_established, and an answer for each channel
    double subscribed_cpu = 0, subscribed_wall = 0;
    while (1) {
        if (sent < to_send && curl_easy_send(curl, out + sent, to_send - sent, &count) == CURLE_OK) sent += count;
        CURLcode result = curl_easy_recv(curl, buffer + have, 65536, &count);
        if (result == CURLE_AGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLIN | (sent < to_send ? POLLOUT : 0)};
            poll(&wait, 1, -1);
            continue;
        }
        if (result != CURLE_OK || count == 0) return 69;
        have += count;
        size_t at = 0, used;
        if (!is_open) {
            at = behind_head(buffer, have);
            if (at == 0) continue;
            is_open = 1;
        }
        struct frame frame;
        while ((used = cut_frame(buffer + at, have - at, &frame)) > 0) {
            at += used;
            frames++;
            if (frames == before) {
                subscribed_cpu = cpu_seconds() - start;
                subscribed_wall = (nanoseconds() - begin) / 1e9;
            }
            if (frames == before + 1) start = cpu_seconds();  // the first event
            if (frames == before + events) {
                printf("{\"events\":%ld,\"cpu_seconds\":%.6f,", events, cpu_seconds() - start);
                printf("\"subscribe_seconds\":%.6f,\"subscribe_cpu_seconds\":%.6f}\n", subscribed_wall, subscribed_cpu);
                return 0;
            }
        }
        memmove(buffer, buffer + at, have -= at);
    }
}
