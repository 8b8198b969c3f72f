import Basics
import InMemoryTracing
import PusherHTTP
import TestSupport
import Testing
import Tracing

/// API calls as spans.
@Suite(.overSockets)
struct TracingTests {
    @Test func aCallIsASpanWithoutNames_whoseContextTheServerGets() async throws {
        let tracer = InMemoryTracer()
        let heads = Lock<[String]>([])
        let server = SocketServer { peer in
            heads.withLock { $0.append(peer.readRequest().head) }
            peer.answer(#"{"occupied":true}"#)
        }
        _ = try await withTracer(tracer) { try await PusherHTTPClient(server).channel("room") }
        let span = try #require(tracer.finishedSpans.first)
        #expect(tracer.finishedSpans.count == 1 && tracer.activeSpans.isEmpty)
        #expect(span.operationName == "GET /apps/{app_id}/channels/{channel}" && span.kind == .client)
        #expect(span.attributes.get("http.response.status_code") == .int64(200))
        let head = try #require(heads.withLock { $0.first })
        #expect(head.lowercased().contains("\r\nin-memory-trace-id: \(span.traceID.lowercased())\r\n"))
    }

    @Test func aCallThatFailsIsASpanWithItsError() async throws {
        let tracer = InMemoryTracer()
        let server = SocketServer { peer in
            _ = peer.readRequest()
            peer.answer("no", status: "403 Forbidden")
        }
        await #expect(throws: PusherHTTPError.self) {
            try await withTracer(tracer) {
                _ = try await PusherHTTPClient(server).trigger(event: "e", channels: ["c"], data: "payload")
            }
        }
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.operationName == "POST /apps/{app_id}/events")
        #expect(span.status?.code == .error && span.attributes.get("error.type") == .string("refused"))
        #expect(span.attributes.get("http.response.status_code") == .int64(403))
    }
}
