import JSONBytes
import MatrixProtocol

/// The JSON text of a request's body, or the reason there is none. Encoded where the caller is, so its source need not
/// be sendable.
package struct EncodedJSON: Sendable {
    let bytes: Result<[UInt8], MatrixError>

    package init(_ object: [String: Any]) {
        guard JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object, options: [.withoutEscapingSlashes])
        else {
            bytes = .failure(
                MatrixError(.invalidArgument, "the content holds what JSON cannot express; nothing was sent"))
            return
        }
        bytes = .success(Array(data))
    }

    /// - Parameter text: The JSON text of an object.
    init(text: [UInt8]) {
        guard let json = JSONView(text), json.isObject else {
            bytes = .failure(MatrixError(.invalidArgument, "the content is not a JSON object; nothing was sent"))
            return
        }
        bytes = .success(text)
    }

    static let empty = EncodedJSON([:])
}
