import Foundation

/// Encodes the caller's own values as JSON. Uses Foundation's encoder: it runs once per request, and servers expect its
/// output.
enum CallersJSON {
    /// - Parameter what: A description of the value, for the error.
    static func bytes(_ value: some Encodable, of what: String) throws(PusherHTTPError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw PusherHTTPError(.invalidArgument, "\(what) cannot be written as JSON")
        }
    }

    static func encode(_ value: some Encodable, of what: String) throws(PusherHTTPError) -> String {
        String(decoding: try bytes(value, of: what), as: UTF8.self)
    }
}
