package import Basics

/// Header fields in order of appearance; names compare without regard to case (RFC 9110, section 5.1).
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

    /// The first value of the field `name`; setting replaces all of them.
    package subscript(name: String) -> String? {
        get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            if let newValue { append(name: name, value: newValue) }
        }
    }
}

extension String {
    /// ASCII letters compare without case, everything else byte by byte; independent of the locale.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    package var asciiLowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}

/// One HTTP exchange to be made.
package struct HTTPRequest: Sendable, Confidential {
    package var method: String
    /// Absolute, `http` or `https`.
    package var url: String
    package var fields: HTTPFields
    package var body: [UInt8]
    /// Covers everything from name resolution to the last byte of the body.
    package var timeout: Duration
    /// Bytes of response body accepted; one more fails the request with `TransportError.Code.tooLarge`.
    package var maximumBodySize: Int
    /// The option that ``maximumBodySize`` comes from, for the error that names it.
    package var bodySizeOption: String
    package var followsRedirects: Bool
    /// Taken for the body instead of ``body``, piece by piece.
    package var bodyFile: HTTPBodyFile?
    /// Where the body of a successful answer goes, piece by piece. ``HTTPResponse/body`` is then empty, and
    /// ``maximumBodySize`` bounds the file, of which what had come remains after a failure.
    package var answerFile: HTTPAnswerFile?
    /// Asked with the head of a successful answer whether ``answerFile`` takes the body; if not, it is treated as without
    /// one. Nil is always. Called on the I/O thread.
    package var answerFileTakes: (@Sendable (HTTPResponse) -> Bool)?
    /// Bounds ``answerFile`` instead of ``maximumBodySize``, which is then for other bodies alone.
    package var maximumFileSize: Int?
    /// Fails a transfer that moves less than a byte a second for so long; ``timeout`` is then for the connecting alone. Fails
    /// one that takes more than ten times as long, too, if on average it moves less than ``slowestRate``.
    package var stallTimeout: Duration?
    /// Bytes of bodies a second below which a long transfer is a peer's trick: nobody could use such a connection.
    package static let slowestRate = 64
    /// Lets the server compress its answer. ``maximumBodySize`` holds for what comes out.
    package var acceptsCompression = false
    /// Uses no connection that nobody has used since then, because it may be dead; `.now` opens a new one. Nil: any.
    package var usesConnectionsSince: MonotonicInstant?
    /// Whether the server may get it twice. If so, it is sent again on a new connection when one that was kept alive
    /// turns out to be dead. By default all but `POST` and `PATCH` may be (RFC 9110, section 9.2.2).
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

    /// Neither the URL, which may hold credentials, nor header values or the body.
    package var description: String { "a \(method) request" }
}

/// A part of a file, to be sent with something around it.
package struct HTTPBodyFile: Hashable, Sendable {
    package var path: String
    package var offset: Int64
    /// Must be there when the request is made.
    package var count: Int64
    /// Sent before the part of the file.
    package var before: [UInt8] = []
    /// Sent after it.
    package var after: [UInt8] = []

    /// Bytes of the whole body.
    package var bodySize: Int64 { Int64(before.count) + count + Int64(after.count) }

    package init(path: String, offset: Int64 = 0, count: Int64) {
        (self.path, self.offset, self.count) = (path, offset, count)
    }
}

/// A file to be written; only its owner may read it.
package struct HTTPAnswerFile: Hashable, Sendable {
    package var path: String
    /// Goes on at the file's end if the answer is the part that begins there (206); a whole answer begins the file anew.
    /// The request asks for the part in its field `Range`.
    package var resumes: Bool

    package init(path: String, resumes: Bool = false) {
        (self.path, self.resumes) = (path, resumes)
    }
}

/// How far a transfer has come, in bytes of bodies.
package struct HTTPProgress: Hashable, Sendable {
    package var sent: Int64 = 0
    package var totalToSend: Int64 = 0
    package var received: Int64 = 0
    /// Of a part of a file, what was there before.
    package var receivedBefore: Int64 = 0
    /// Nil: the server has not said.
    package var totalToReceive: Int64?

    package init() {}
}

/// What came back, whatever the status.
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
