// libcurl's own share of a connection: resident memory of many handles in one multi handle, each connected, asked for a
// WebSocket and answered, and the time until all are.
//
//     handles PORT CONNECTIONS
#include "websocket.h"
#include <curl/curl.h>
#include <sys/epoll.h>

static int poller;
static long timeout = -1;  // milliseconds

static int watch(CURL *curl, curl_socket_t fd, int what, void *multi, void *known) {
    (void)curl;
    struct epoll_event event = {.data.fd = fd};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
    } else {
        epoll_ctl(poller, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
        curl_multi_assign(multi, fd, &poller);  // known from now on
    }
    return 0;
}

static int set_timeout(CURLM *multi, long milliseconds, void *unused) {
    (void)multi, (void)unused;
    timeout = milliseconds;
    return 0;
}

static void add(CURLM *multi, CURL **handle, const char *url) {
    CURL *curl = *handle = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_multi_add_handle(multi, curl);
}

static void receive_answer(CURL *curl) {
    char in[1024];
    size_t count;
    CURLcode result;
    while ((result = curl_easy_recv(curl, in, sizeof in, &count)) == CURLE_AGAIN) usleep(100);
    if (result != CURLE_OK) fail("answer");
}

static void connect_all(CURLM *multi, CURL **handles, long count, const char *url) {
    for (long index = 0; index < count; index++) add(multi, &handles[index], url);
    for (long connected = 0; connected < count;) {
        struct epoll_event events[256];
        int running, waiting, ready = epoll_wait(poller, events, 256, timeout);
        if (ready == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        for (int index = 0; index < ready; index++) {
            int what = (events[index].events & ~EPOLLOUT ? CURL_CSELECT_IN : 0)
                | (events[index].events & ~EPOLLIN ? CURL_CSELECT_OUT : 0);
            curl_multi_socket_action(multi, events[index].data.fd, what, &running);
        }
        CURLMsg *message;
        while ((message = curl_multi_info_read(multi, &waiting))) {
            size_t sent;
            if (message->data.result != CURLE_OK
                || curl_easy_send(message->easy_handle, REQUEST, strlen(REQUEST), &sent) != CURLE_OK) fail("connect");
            connected++;
        }
    }
    for (long index = 0; index < count; index++) receive_answer(handles[index]);
}

int main(int argc, char **argv) {
    if (argc != 3) return 64;
    raise_descriptor_limit();
    long count = atol(argv[2]);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%s/", argv[1]);
    poller = epoll_create1(0);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timeout);
    CURL **handles = calloc(count, sizeof *handles), *first;
    connect_all(multi, &first, 1, url);  // what the process needs anyway
    long before = resident_bytes();
    int64_t start = nanoseconds();
    connect_all(multi, handles, count, url);
    double seconds = (nanoseconds() - start) / 1e9;
    printf("{\"rss_per_connection_bytes\":%.1f,\"connect_seconds\":%.6f}\n",
        (double)(resident_bytes() - before) / count, seconds);
    fflush(stdout);
    _exit(0);  // the kernel closes the connections faster than libcurl
}
