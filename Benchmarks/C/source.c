// A loopback server that costs the client nothing but its events: it answers the WebSocket and Pusher handshakes of one
// client after the other, confirms the subscription of the channel "bench", and then writes N pre-built frames from a
// large buffer, followed by one event "done". Its CPU time is not counted: it is a process of its own.
//
//     source PORT N          prints "listening" when ready
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAYLOAD = 200, FRAME = PAYLOAD + 4, IN_BUFFER = 1000 };

static int write_all(int fd, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written <= 0) return -1;
        bytes += written;
        count -= written;
    }
    return 0;
}

// A text frame of at most 64 KiB.
static size_t frame(char *out, const char *payload) {
    size_t count = strlen(payload), head = 2;
    out[0] = (char)0x81;
    if (count < 126) {
        out[1] = (char)count;
    } else {
        out[1] = 126;
        out[2] = (char)(count >> 8);
        out[3] = (char)count;
        head = 4;
    }
    memcpy(out + head, payload, count);
    return head + count;
}

static int send_text(int fd, const char *payload) {
    char out[1024];
    return write_all(fd, out, frame(out, payload));
}

static int upgrade(int fd) {
    char head[8192];
    size_t length = 0;
    while (length < sizeof head - 1) {
        ssize_t count = read(fd, head + length, sizeof head - 1 - length);
        if (count <= 0) return -1;
        head[length += count] = 0;
        if (strstr(head, "\r\n\r\n")) break;
    }
    char *key = strcasestr(head, "Sec-WebSocket-Key: ");
    if (!key) return -1;
    char text[128];
    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
    unsigned char digest[20], accept[32];
    SHA1((unsigned char *)text, strlen(text), digest);
    EVP_EncodeBlock(accept, digest, sizeof digest);
    char answer[256];
    int count = snprintf(answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    return write_all(fd, answer, count);
}

static void serve(int fd, long events, const char *block) {
    if (upgrade(fd) < 0) return;
    send_text(fd, "{\"event\":\"pusher:connection_established\","
                  "\"data\":\"{\\\"socket_id\\\":\\\"1.1\\\",\\\"activity_timeout\\\":120}\"}");
    char in[4096];
    if (read(fd, in, sizeof in) <= 0) return;  // the subscription
    send_text(fd, "{\"event\":\"pusher_internal:subscription_succeeded\",\"channel\":\"bench\",\"data\":\"{}\"}");
    for (long sent = 0; sent < events; sent += IN_BUFFER) {
        long now = events - sent < IN_BUFFER ? events - sent : IN_BUFFER;
        if (write_all(fd, block, now * FRAME) < 0) return;
    }
    send_text(fd, "{\"event\":\"done\",\"channel\":\"bench\",\"data\":\"\"}");
    while (read(fd, in, sizeof in) > 0) {}
}

int main(int argc, char **argv) {
    if (argc != 3) return 64;
    signal(SIGPIPE, SIG_IGN);
    // 200 bytes of payload; the data is JSON with its quotes escaped, as servers send it.
    char payload[PAYLOAD + 1];
    int used = snprintf(payload, sizeof payload,
        "{\"event\":\"price\",\"channel\":\"bench\",\"data\":\"{\\\"symbol\\\":\\\"ACME\\\",\\\"value\\\":123.45,\\\"text\\\":\\\"");
    const char *tail = "\\\"}\"}";
    memset(payload + used, 'x', PAYLOAD - used - strlen(tail));
    strcpy(payload + PAYLOAD - strlen(tail), tail);
    char *block = malloc(IN_BUFFER * FRAME + 16);
    for (int index = 0; index < IN_BUFFER; index++) frame(block + index * FRAME, payload);

    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 16) < 0) return 69;
    puts("listening");
    fflush(stdout);
    while (1) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) continue;
        serve(fd, atol(argv[2]), block);
        close(fd);
    }
}
