// Many clients in one process, as cheap as they can be: each connects and subscribes to `c0`.
//
//     subscribers PORT CONNECTIONS EVENTS
//
// Prints `ready` when all are subscribed, and `done` when each has got that many events.
#include "websocket.h"
#include <sys/epoll.h>

struct client {
    int fd, is_open;
    size_t have;
    char in[16384];
};

// Returns how many frames it got.
static long receive(struct client *client) {
    ssize_t count = recv(client->fd, client->in + client->have, sizeof client->in - client->have, 0);
    if (count <= 0) fail("recv");
    client->have += count;
    size_t at = 0, used;
    if (!client->is_open) {
        at = behind_head(client->in, client->have);
        if (at == 0) return 0;
        client->is_open = 1;
        char out[256];
        if (write(client->fd, out, put_subscription(out, "c0")) < 0) fail("write");
    }
    long frames = 0;
    struct frame frame;
    while ((used = cut_frame(client->in + at, client->have - at, &frame)) > 0) {
        at += used;
        frames++;
    }
    memmove(client->in, client->in + at, client->have -= at);
    return frames;
}

static void receive_until(int poller, long wanted, const char *word) {
    static long frames;
    while (frames < wanted) {
        struct epoll_event events[256];
        int count = epoll_wait(poller, events, 256, -1);
        for (int index = 0; index < count; index++) frames += receive(events[index].data.ptr);
    }
    puts(word);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 4) return 64;
    raise_descriptor_limit();
    long count = atol(argv[2]), events = atol(argv[3]), answers = 2;  // connection_established, and the subscription's
    struct client *clients = calloc(count, sizeof *clients);
    int poller = epoll_create1(0);
    for (long index = 0; index < count; index++) {
        clients[index].fd = connect_and_ask(atoi(argv[1]));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[index]};
        epoll_ctl(poller, EPOLL_CTL_ADD, clients[index].fd, &event);
    }
    receive_until(poller, count * answers, "ready");
    receive_until(poller, count * (answers + events), "done");
}
