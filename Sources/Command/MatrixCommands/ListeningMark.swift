import Foundation

/// The position up to which `listen` has reported events, stored for the next run.
struct ListeningMark: Codable {
    /// The name of the note in the store.
    static let name = "listening"

    /// A position in the homeserver's stream; everything before it was reported.
    let token: String
    /// The time of that position.
    let date: Date
    /// Ids of later events that were also reported.
    var told: Set<String> = []

    init(token: String) {
        (self.token, date) = (token, Date())
    }

    /// Returns `nil` if the text is not a mark.
    init?(_ text: String) {
        guard let mark = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = mark
    }

    var text: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }
}
