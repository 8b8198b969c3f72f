// A loopback server that costs the client nothing but its events: it answers the handshakes of one client after the
// other, confirms the subscriptions of CHANNELS channels (`c0`, `c1` …, or `private-encrypted-c0` …), and then writes
// EVENTS pre-built events of SIZE bytes of payload from a large buffer, to one channel after the other. Its CPU time is
// not counted: it is a process of its own.
//
//     source EVENTS SIZE CHANNELS plain|encrypted|paced|flood [CERTIFICATE KEY]
//     source EVENTS timed             every millisecond one of 200 bytes whose data is the time, in nanoseconds
//
// Paced is one event each second to each channel, a flood 10,000 a second to all of them, both spread evenly; otherwise
// they come as fast as they are taken.
// Prints where it listens, and for each client how many frames that has sent. Without events it drops a client that has
// subscribed to everything.
#include "event.h"
#include "websocket.h"
#include <openssl/ssl.h>

enum { TIMED_SIZE = 200, BLOCK = 1 << 20, MILLISECOND = 1000000, FLOOD = 10000 };

struct peer {
    int fd;
    SSL *ssl;  // NULL for a plain one
};

static ssize_t receive(struct peer peer, char *bytes, size_t count) {
    return peer.ssl ? SSL_read(peer.ssl, bytes, count) : read(peer.fd, bytes, count);
}

static int send_all(struct peer peer, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = peer.ssl ? SSL_write(peer.ssl, bytes, count) : write(peer.fd, bytes, count);
        if (written <= 0) return -1;
        bytes += written;
        count -= written;
    }
    return 0;
}

// MARK: Events

// Frames of equal size, for one channel after the other.
struct block {
    char *bytes;
    long count;
    size_t frame_size;
};

static struct block make_block(size_t size, long channels, int encrypted) {
    static char payload[MAXIMUM_PAYLOAD], frame[MAXIMUM_PAYLOAD + 8];
    struct block block = {0};
    for (long index = 0; index < block.count || index == 0; index++) {
        put_event(payload, size, index % channels, encrypted);
        size_t count = put_frame(frame, payload, strlen(payload), 0);
        if (index == 0) {
            long rounds = BLOCK / count / channels + 1;
            block = (struct block){malloc(rounds * channels * (count + 8)), rounds * channels, count};
        }
        memcpy(block.bytes + index * count, frame, count);
    }
    return block;
}

static void send_block(struct peer peer, struct block block, long events) {
    for (long sent = 0; sent < events; sent += block.count) {
        long now = events - sent < block.count ? events - sent : block.count;
        if (send_all(peer, block.bytes, now * block.frame_size) < 0) return;
    }
}

// The next moment of a series, each a millisecond after the one before; it begins with 0.
static int64_t wait_for_next(int64_t last) {
    int64_t next = last == 0 ? nanoseconds() : last + MILLISECOND;
    struct timespec moment = {next / 1000000000, next % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0) {}
    return next;
}

// So many a second.
static void send_paced(struct peer peer, struct block block, long events, long rate) {
    int64_t moment = 0;
    for (long sent = 0, step = 1; sent < events; step++) {
        moment = wait_for_next(moment);
        for (; sent < events && sent < step * rate / 1000; sent++) {
            if (send_all(peer, block.bytes + sent % block.count * block.frame_size, block.frame_size) < 0) return;
        }
    }
}

static void send_timed(struct peer peer, long events) {
    int64_t moment = 0;
    for (long sent = 0; sent < events; sent++) {
        moment = wait_for_next(moment);
        char payload[TIMED_SIZE + 1], frame[TIMED_SIZE + 8];
        int used = sprintf(payload, "{\"event\":\"tick\",\"channel\":\"c0\",\"data\":\"%020ld ", (long)nanoseconds());
        memset(payload + used, 'x', TIMED_SIZE - 2 - used);
        strcpy(payload + TIMED_SIZE - 2, "\"}");
        if (send_all(peer, frame, put_frame(frame, payload, TIMED_SIZE, 0)) < 0) return;
    }
}

// MARK: Clients

// What was received and not used yet; there is one client at a time.
static char in[1 << 16];
static size_t have;

static int receive_more(struct peer peer) {
    ssize_t count = receive(peer, in + have, sizeof in - 1 - have);
    if (count <= 0) return -1;
    in[have += count] = 0;
    return 0;
}

static void use(size_t count) {
    memmove(in, in + count, have -= count);
}

static int upgrade(struct peer peer) {
    char answer[1024];
    have = 0;
    while (!behind_head(in, have)) {
        if (receive_more(peer) < 0) return -1;
    }
    size_t count = put_handshake_answer(answer, in);
    use(behind_head(in, have));
    return send_all(peer, answer, count);
}

// Confirms subscriptions until there are as many as wanted. Returns how many frames came; -1 if the client went away.
static long confirm(struct peer peer, long channels) {
    static char out[1 << 18];
    long frames = 0, subscribed = 0;
    while (1) {
        size_t at = 0, used, answered = 0;
        struct frame frame;
        while ((used = cut_frame(in + at, have - at, &frame)) > 0) {
            at += used;
            frames++;
            size_t answer = put_subscription_answer(out + answered, frame);
            answered += answer;
            subscribed += answer > 0;
        }
        use(at);
        if (send_all(peer, out, answered) < 0) return -1;
        if (subscribed == channels) return frames;
        if (receive_more(peer) < 0) return -1;
    }
}

static SSL_CTX *load_certificate(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1
        || SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) fail("certificate");
    return context;
}

int main(int argc, char **argv) {
    int is_timed = argc == 3 && strcmp(argv[2], "timed") == 0;
    if (!is_timed && argc != 5 && argc != 7) return 64;
    if (sodium_init() < 0) return 69;
    long events = atol(argv[1]), channels = is_timed ? 1 : atol(argv[3]);
    struct block block = {0};
    long rate = is_timed ? 0 : strcmp(argv[4], "paced") == 0 ? channels : strcmp(argv[4], "flood") == 0 ? FLOOD : 0;
    if (!is_timed) block = make_block(atol(argv[2]), channels, strcmp(argv[4], "encrypted") == 0);
    SSL_CTX *context = argc == 7 ? load_certificate(argv[5], argv[6]) : NULL;
    int listener = listen_and_say(), one = 1;
    while (1) {
        struct peer peer = {accept(listener, NULL, NULL), NULL};
        if (peer.fd < 0) continue;
        setsockopt(peer.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (context) {
            peer.ssl = SSL_new(context);
            SSL_set_fd(peer.ssl, peer.fd);
        }
        if ((!peer.ssl || SSL_accept(peer.ssl) == 1) && upgrade(peer) == 0) {
            long frames = confirm(peer, channels);
            if (is_timed) send_timed(peer, events);
            else if (rate > 0) send_paced(peer, block, events, rate);
            else send_block(peer, block, events);
            char rest[4096];
            while (events > 0 && receive(peer, rest, sizeof rest) > 0) {}
            printf("%ld frames\n", frames);
            fflush(stdout);
        }
        SSL_free(peer.ssl);
        close(peer.fd);
    }
}
