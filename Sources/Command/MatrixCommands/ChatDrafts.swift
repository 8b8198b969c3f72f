import CommandKit
import Foundation
import MatrixSDK

/// The unsent texts of chats, by user and room. Several processes can share them: each changes only those of its own
/// accounts.
struct ChatDrafts {
    private let file = UserFile("matrix-drafts.json", in: .state)

    /// Returns all drafts; none if they cannot be read.
    func read() -> [String: String] { (try? load()) ?? [:] }

    private func load() throws(CommandFailure) -> [String: String] {
        guard let data = try file.read() else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }

    /// Replaces the drafts of these users.
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

    /// Removes the drafts of a login that has ended.
    func remove(of user: String) throws(CommandFailure) { try write([:], of: [user]) }
}
