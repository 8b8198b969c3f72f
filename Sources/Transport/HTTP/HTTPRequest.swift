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
    package var followsRedirects: Bool

    package init(
        method: String = "GET", url: String, fields: HTTPFields = [:], body: [UInt8] = [],
        timeout: Duration = .seconds(30), maximumBodySize: Int = 10 << 20, followsRedirects: Bool = false
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.timeout = timeout
        self.maximumBodySize = maximumBodySize
        self.followsRedirects = followsRedirects
    }

    /// Neither the URL, which may hold credentials, nor header values or the body.
    package var description: String { "a \(method) request" }
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
