// The floor of latency: receives EVENTS paced events of `source` with epoll_wait and recv, and prints for each how many
// nanoseconds it was on its way.
//
//     receiver PORT EVENTS
#include "websocket.h"
#include <sys/epoll.h>

int main(int argc, char **argv) {
    if (argc != 3) return 64;
    long expected = atol(argv[2]), received = 0;
    int64_t *samples = malloc(expected * sizeof *samples);
    int fd = connect_and_ask(atoi(argv[1])), poller = epoll_create1(0);
    char out[256];
    if (write(fd, out, put_subscription(out, "c0")) < 0) fail("write");
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);

    static char in[65536];
    size_t have = 0;
    int is_open = 0;
    while (received < expected) {
        epoll_wait(poller, &event, 1, -1);
        ssize_t count = recv(fd, in + have, sizeof in - have, 0);
        if (count <= 0) fail("recv");
        have += count;
        size_t at = 0, used, length;
        if (!is_open) {
            at = behind_head(in, have);
            if (at == 0) continue;
            is_open = 1;
        }
        struct frame frame;
        while ((used = cut_frame(in + at, have - at, &frame)) > 0) {
            at += used;
            char *sent = find_text(frame, "\"channel\":\"c0\",\"data\":", &length);
            if (sent && length > 20) samples[received++] = nanoseconds() - atoll(sent);
        }
        memmove(in, in + at, have -= at);
    }
    for (long index = 0; index < expected; index++) printf("%ld\n", (long)samples[index]);
}
