import Foundation

/// How far `listen` has told what happened, kept for the next one.
struct ListeningMark: Codable {
    /// Under which it is noted in the store.
    static let name = "listening"

    /// A point of the homeserver's stream: all that came before it was told.
    let token: String
    /// When that was.
    let date: Date
    /// Ids of events after it that were told, too.
    var told: Set<String> = []

    init(token: String) {
        (self.token, date) = (token, Date())
    }

    /// Nil if it is not one.
    init?(_ text: String) {
        guard let mark = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = mark
    }

    var text: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }
}
