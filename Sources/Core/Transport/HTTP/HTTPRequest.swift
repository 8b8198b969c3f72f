package import Basics

/// Header fields in order of appearance. Names are case-insensitive (RFC 9110, section 5.1).
package struct HTTPFields: Hashable, Sendable, ExpressibleByDictionaryLiteral, Confidential {
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name: name, value: value) }
    }

    /// The names, never the values, which may be tokens.
    package var description: String { "header fields " + fields.map(\.name).joined(separator: ", ") }

    package mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The first value of the field `name`. Setting it replaces all of them.
    package subscript(name: String) -> String? {
        get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            if let newValue { append(name: name, value: newValue) }
        }
    }
}

extension String {
    /// Compares ASCII letters without case and everything else byte by byte, regardless of the locale.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    package var asciiLowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

/// A request for one HTTP exchange.
package struct HTTPRequest: Sendable, Confidential {
    package var method: String
    /// The absolute URL, `http` or `https`.
    package var url: String
    package var fields: HTTPFields
    package var body: [UInt8]
    /// The time limit from name resolution to the last byte of the body.
    package var timeout: Duration
    /// The maximum size of the response body in bytes. A larger one fails the request with
    /// `TransportError.Code.tooLarge`.
    package var maximumBodySize: Int
    /// The option that determines ``maximumBodySize``, for error messages.
    package var bodySizeOption: String
    package var followsRedirects: Bool
    /// Sent piece by piece as the body instead of ``body``.
    package var bodyFile: HTTPBodyFile?
    /// Receives the body of a successful response piece by piece. ``HTTPResponse/body`` is then empty, and
    /// ``maximumBodySize`` limits the file, which keeps the received part after a failure.
    package var answerFile: HTTPAnswerFile?
    /// Decides from the head of a successful response whether ``answerFile`` takes its body; if not, the response is
    /// handled as without a file. Nil means always. Called on the I/O thread.
    package var answerFileTakes: (@Sendable (HTTPResponse) -> Bool)?
    /// Limits ``answerFile`` instead of ``maximumBodySize``, which then applies only to other bodies.
    package var maximumFileSize: Int?
    /// Fails a transfer that moves less than a byte per second for this time; ``timeout`` then applies only to
    /// connecting. Also fails a transfer that takes more than ten times as long and moves less than ``slowestRate`` on
    /// average.
    package var stallTimeout: Duration?
    /// The average rate, in bytes of bodies per second, below which a long transfer must be an attack: nobody could use
    /// such a connection.
    package static let slowestRate = 64
    /// Allows the server to compress its response. ``maximumBodySize`` limits the decompressed size.
    package var acceptsCompression = false
    /// Reuses no connection that has been idle since before this time, because it may be dead. `.now` opens a new one;
    /// nil allows any.
    package var usesConnectionsSince: MonotonicInstant?
    /// Whether the server may receive it twice. If so, it is sent again on a new connection when a kept-alive one turns
    /// out to be dead. By default, true for all methods except `POST` and `PATCH` (RFC 9110, section 9.2.2).
    package var isSafeToRepeat: Bool

    package init(
        method: String = "GET", url: String, fields: HTTPFields = [:], body: [UInt8] = [],
        timeout: Duration = .seconds(30), maximumBodySize: Int = 10 << 20, bodySizeOption: String = "maximumBodySize",
        followsRedirects: Bool = false
    ) {
        self.method = method
        isSafeToRepeat = method != "POST" && method != "PATCH"
        self.url = url
        self.fields = fields
        self.body = body
        self.timeout = timeout
        self.maximumBodySize = maximumBodySize
        self.bodySizeOption = bodySizeOption
        self.followsRedirects = followsRedirects
    }

    /// Omits the URL, which may contain credentials, and header values and the body.
    package var description: String { "a \(method) request" }
}

/// A part of a file to send, with optional bytes around it.
package struct HTTPBodyFile: Hashable, Sendable {
    package var path: String
    package var offset: Int64
    /// The bytes to send; they must exist when the request is made.
    package var count: Int64
    /// The bytes to send before the part of the file.
    package var before: [UInt8] = []
    /// The bytes to send after it.
    package var after: [UInt8] = []

    package var bodySize: Int64 { Int64(before.count) + count + Int64(after.count) }

    package init(path: String, offset: Int64 = 0, count: Int64) {
        (self.path, self.offset, self.count) = (path, offset, count)
    }
}

/// A file to write; only its owner can read it.
package struct HTTPAnswerFile: Hashable, Sendable {
    package var path: String
    /// Whether to continue at the file's end if the response is the part that begins there (206). A complete response
    /// overwrites the file. The request must ask for the part in its field `Range`.
    package var resumes: Bool

    package init(path: String, resumes: Bool = false) {
        (self.path, self.resumes) = (path, resumes)
    }
}

/// The progress of a transfer, in bytes of bodies.
package struct HTTPProgress: Hashable, Sendable {
    package var sent: Int64 = 0
    package var totalToSend: Int64 = 0
    package var received: Int64 = 0
    /// For a part of a file, the size of the existing file.
    package var receivedBefore: Int64 = 0
    /// `nil` if the server did not send it.
    package var totalToReceive: Int64?

    package init() {}
}

/// A response with any status.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: [UInt8]

    package init(status: Int, fields: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
