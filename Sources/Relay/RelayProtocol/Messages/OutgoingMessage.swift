/// A message to be published.
package struct OutgoingMessage: Sendable {
    package var subject: String
    /// Names and encoded values.
    package var headers: [(name: String, value: String)]
    package var payload: [UInt8]
    /// Stored once within the stream's window of duplicates.
    package var messageID: String?
    /// The stream that must take it.
    package var expectedStream: String?

    package init(
        subject: String, headers: [(name: String, value: String)] = [], payload: [UInt8], messageID: String? = nil,
        expectedStream: String? = nil
    ) {
        (self.subject, self.headers, self.payload) = (subject, headers, payload)
        (self.messageID, self.expectedStream) = (messageID, expectedStream)
    }
}
