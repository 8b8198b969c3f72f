// libcurl's own share of a connection: resident memory of many handles in one multi handle, each connected, asked for a
// WebSocket and answered, and the time until all are.
//
//     handles PORT CONNECTIONS
#include "websocket.h"
#include <curl/curl.h>

static int is_answered(CURL *curl) {
    char in[1024];
    size_t count;
    return curl_easy_recv(curl, in, sizeof in, &count) == CURLE_OK;
}

static void connect_all(CURL **handles, long count, CURLM *multi, const char *url) {
    for (long index = 0; index < count; index++) {
        CURL *curl = handles[index] = curl_easy_init();
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        curl_multi_add_handle(multi, curl);
        // Each on its own: a multi handle that drives thousands without sockets of its own goes through all each time.
        int running, waiting;
        CURLMsg *message;
        do {
            curl_multi_perform(multi, &running);
            message = curl_multi_info_read(multi, &waiting);
            if (!message) curl_multi_poll(multi, NULL, 0, 1000, NULL);
        } while (!message);
        size_t sent;
        if (message->data.result != CURLE_OK
            || curl_easy_send(curl, REQUEST, strlen(REQUEST), &sent) != CURLE_OK) fail("connect");
    }
    for (long index = 0; index < count; index++) {
        while (!is_answered(handles[index])) usleep(100);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 64;
    raise_descriptor_limit();
    long count = atol(argv[2]);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%s/", argv[1]);
    CURLM *multi = curl_multi_init();
    CURL **handles = calloc(count, sizeof *handles), *first;
    connect_all(&first, 1, multi, url);  // what the process needs anyway
    long before = resident_bytes();
    int64_t start = nanoseconds();
    connect_all(handles, count, multi, url);
    double seconds = (nanoseconds() - start) / 1e9;
    printf("{\"rss_per_connection_bytes\":%.1f,\"connect_seconds\":%.6f}\n",
        (double)(resident_bytes() - before) / count, seconds);
    fflush(stdout);
    _exit(0);
}
