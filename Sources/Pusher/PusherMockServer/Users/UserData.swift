import Basics

/// The user that a connection signs in as: the signed `user_data`, validated. Pusher protocol, "Signing in users".
struct UserData: Hashable {
    static let maximumIDLength = 200
    static let maximumWatchlistSize = 100

    let id: String
    /// The watched users, each once, up to the limit.
    let watchlist: [ByteKey]
    let exceedsWatchlistLimit: Bool

    var key: ByteKey { ByteKey(id) }

    struct Malformed: Error, Hashable {
        let message: String
    }

    init(_ text: String) throws(Malformed) {
        guard let object = JSONObject(text), let id = object.string("id"), !id.isEmpty else {
            throw Malformed(message: "user_data must be a JSON object with an id, a string that is not empty")
        }
        guard id.utf8.count <= Self.maximumIDLength else {
            throw Malformed(message: "The id of a user has at most \(Self.maximumIDLength) characters")
        }
        self.id = id
        guard object.has("watchlist"), !object.isNull("watchlist") else {
            (watchlist, exceedsWatchlistLimit) = ([], false)
            return
        }
        let watched = object.array("watchlist").map { $0.compactMap { $0 as? String } }
        guard let watched, watched.count == object.array("watchlist")?.count else {
            throw Malformed(message: "The watchlist of a user must be an array of strings")
        }
        var seen: Set<ByteKey> = []
        let unique = watched.map { ByteKey($0) }.filter { seen.insert($0).inserted }
        watchlist = Array(unique.prefix(Self.maximumWatchlistSize))
        exceedsWatchlistLimit = unique.count > Self.maximumWatchlistSize
    }
}
