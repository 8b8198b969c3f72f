import MatrixProtocol

/// The path of an endpoint. What is interpolated is one piece each, percent-encoded whole:
///
///     "v3/rooms/\(roomId)/state/\(type)/\(orEmpty: stateKey)"
///
/// Without a leading `/` it lies below `/_matrix/client/`.
struct EndpointPath: ExpressibleByStringInterpolation, Sendable {
    let text: String
    /// The path without what was interpolated, for messages.
    let template: String
    /// Whether a piece is one that no server would take for itself: empty, `.` or `..`.
    let isUsable: Bool

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var template = ""
        fileprivate var isUsable = true

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 48 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) {
            text += literal
            template += literal
        }

        mutating func appendInterpolation(_ piece: String) {
            isUsable = isUsable && !piece.isEmpty
            appendInterpolation(orEmpty: piece)
        }

        mutating func appendInterpolation(orEmpty piece: String) {
            isUsable = isUsable && piece != "." && piece != ".."
            text += piece.percentEncoded
            template += "…"
        }
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text.belowClientAPI
        template = stringInterpolation.template
        isUsable = stringInterpolation.isUsable
    }

    init(stringLiteral value: String) {
        text = value.belowClientAPI
        template = value
        isUsable = true
    }
}

extension String {
    fileprivate var belowClientAPI: String { hasPrefix("/") ? self : "/_matrix/client/" + self }

    /// Everything but unreserved characters encoded (RFC 3986, 2.3).
    var percentEncoded: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count + 16)
        for byte in utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                for digit in [byte >> 4, byte & 15] {
                    bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
