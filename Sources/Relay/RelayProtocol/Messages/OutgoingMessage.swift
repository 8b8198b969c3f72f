package struct OutgoingMessage: Sendable {
    package var subject: String
    /// The headers, with encoded values.
    package var headers: [(name: String, value: String)]
    package var payload: [UInt8]
    /// An ID that the stream stores once within its window of duplicates.
    package var messageID: String?
    package var expectedStream: String?

    package init(
        subject: String, headers: [(name: String, value: String)] = [], payload: [UInt8], messageID: String? = nil,
        expectedStream: String? = nil
    ) {
        (self.subject, self.headers, self.payload) = (subject, headers, payload)
        (self.messageID, self.expectedStream) = (messageID, expectedStream)
    }
}
