// A loopback server that holds any number of connections and costs next to nothing: it answers handshakes, and each
// frame that subscribes.
//
//     holder
//
// `send COUNT SIZE` on standard input writes an event COUNT times to all connections, as the least that fan-out can
// cost.
#include "event.h"
#include "websocket.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

enum { MAXIMUM_CONNECTIONS = 1 << 20 };

static char is_open[MAXIMUM_CONNECTIONS];  // by descriptor: whether the handshake is over
static int highest;

static void write_fully(int fd, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0) return;
        bytes += written;
        count -= written;
    }
}

static void accept_all(int listener, int poller) {
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MAXIMUM_CONNECTIONS) fail("too many connections");
        fcntl(fd, F_SETFL, 0);  // what is written is small, or its reader fast
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        is_open[fd] = 0;
        if (fd > highest) highest = fd;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

// A small request or frame comes in one piece on loopback.
static void answer(int fd) {
    static char in[65536], out[1 << 18];
    ssize_t count = read(fd, in, sizeof in - 1);
    if (count <= 0) {
        is_open[fd] = 0;
        close(fd);
        return;
    }
    in[count] = 0;
    size_t at = 0, used, answered = 0;
    if (!is_open[fd]) {
        answered = put_handshake_answer(out, in);
        at = behind_head(in, count);
        is_open[fd] = answered > 0;
    }
    struct frame frame;
    while ((used = cut_frame(in + at, count - at, &frame)) > 0) {
        at += used;
        answered += put_subscription_answer(out + answered, frame);
    }
    write_fully(fd, out, answered);
}

static void send_to_all(long count, size_t size) {
    static char payload[MAXIMUM_PAYLOAD], frame[MAXIMUM_PAYLOAD + 8];
    put_event(payload, size, 0, 0);
    size_t length = put_frame(frame, payload, size, 0);
    for (long index = 0; index < count; index++) {
        for (int fd = 0; fd <= highest; fd++) {
            if (is_open[fd]) write_fully(fd, frame, length);
        }
    }
}

int main(void) {
    raise_descriptor_limit();
    int listener = listen_and_say(), poller = epoll_create1(0);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    int sources[] = {listener, STDIN_FILENO};
    for (int index = 0; index < 2; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = sources[index]};
        epoll_ctl(poller, EPOLL_CTL_ADD, sources[index], &event);
    }
    while (1) {
        struct epoll_event events[256];
        int count = epoll_wait(poller, events, 256, -1);
        for (int index = 0; index < count; index++) {
            int fd = events[index].data.fd;
            if (fd == listener) {
                accept_all(listener, poller);
            } else if (fd == STDIN_FILENO) {
                char line[64];
                long times, size;
                if (!fgets(line, sizeof line, stdin)) return 0;
                if (sscanf(line, "send %ld %ld", &times, &size) == 2) send_to_all(times, size);
            } else {
                answer(fd);
            }
        }
    }
}
