import CNATS

@testable import EventRelay

/// An operator's actions and views.
extension NATSConnection {
    func deleteStream(_ name: String) async throws {
        try await call("the end of stream \(name)") { link throws(NATSError) in
            let status = js_DeleteStream(link.jetStream, name, nil, nil)
            guard status == NATS_OK else { throw NATSError(status, during: "the end of stream \(name)") }
        }
    }

    func consumerCount(_ stream: String) async throws -> Int {
        try await call("the count of consumers") { link throws(NATSError) in
            var info = UnsafeMutablePointer<jsStreamInfo>?.none
            let status = js_GetStreamInfo(&info, link.jetStream, stream, nil, nil)
            defer { jsStreamInfo_Destroy(info) }
            guard status == NATS_OK, let info else { throw NATSError(status, during: "the count of consumers") }
            return Int(info.pointee.State.Consumers)
        }
    }

    func deleteConsumers(_ stream: String) async throws {
        try await call("the end of consumers") { link throws(NATSError) in
            var list = UnsafeMutablePointer<jsConsumerNamesList>?.none
            let status = js_ConsumerNames(&list, link.jetStream, stream, nil, nil)
            defer { jsConsumerNamesList_Destroy(list) }
            guard status == NATS_OK, let names = list?.pointee else {
                throw NATSError(status, during: "the end of consumers")
            }
            for index in 0..<Int(names.Count) { js_DeleteConsumer(link.jetStream, stream, names.List[index], nil, nil) }
        }
    }

    /// Returns the number of a consumer's messages that were delivered but not answered.
    func acksAwaited(_ stream: String, _ consumer: String) async throws -> Int {
        try await call("the look at a consumer") { link throws(NATSError) in
            var info = UnsafeMutablePointer<jsConsumerInfo>?.none
            let status = js_GetConsumerInfo(&info, link.jetStream, stream, consumer, nil, nil)
            defer { jsConsumerInfo_Destroy(info) }
            guard status == NATS_OK, let info else { throw NATSError(status, during: "the look at a consumer") }
            return Int(info.pointee.NumAckPending)
        }
    }
}
