import CommandKit
import Foundation
import MatrixSDK

/// What was written in chats and not sent, by user and room. Several processes may have it: each changes what its accounts
/// have written.
struct ChatDrafts {
    private let file = UserFile("matrix-drafts.json", in: .state)

    /// All of them; none if they cannot be read.
    func read() -> [String: String] { (try? load()) ?? [:] }

    private func load() throws(CommandFailure) -> [String: String] {
        guard let data = try file.read() else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }

    /// Replaces those of these users.
    func write(_ texts: [String: String], of users: [String]) throws(CommandFailure) {
        try file.locking { () throws(CommandFailure) in
            let old = try load()
            let others = old.filter { draft in !users.contains { draft.key.hasPrefix($0 + " ") } }
            let new = others.merging(texts) { $1 }
            guard new != old else { return }
            guard !new.isEmpty else { return try file.remove() }
            guard let data = try? JSONEncoder().encode(new) else {
                throw CommandFailure(.badData, "what you had written cannot be kept as JSON")
            }
            try file.write(data)
        }
    }

    /// A login is over: nothing of it stays.
    func remove(of user: String) throws(CommandFailure) { try write([:], of: [user]) }
}
