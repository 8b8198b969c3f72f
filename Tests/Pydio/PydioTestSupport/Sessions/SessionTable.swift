import Basics

/// The sessions of a server.
struct SessionTable: Sendable {
    static let cookieName = "AjaXplorer"
    private static let limit = 10_000

    struct Session: Sendable {
        var user: String?
        var seed: String?
        /// The valid tokens; if empty, no token is required.
        var tokens: [String] = []
        /// The current workspace of the session.
        var workspace: String?
        /// The text of the session's captcha image.
        var captcha: String?
        /// Order of creation.
        let number: Int
    }

    private(set) var all: [String: Session] = [:]
    private var count = 0

    subscript(id: String) -> Session? {
        get { all[id] }
        set { all[id] = newValue }
    }

    /// Opens the session of a cookie. An unknown one starts over under the same ID, as in PHP; without a cookie a new
    /// ID is made, which has to be set.
    mutating func open(_ cookie: String?) -> (id: String, isNew: Bool) {
        if let cookie, all[cookie] != nil { return (cookie, false) }
        let isUsable = cookie.map { !$0.isEmpty && $0.utf8.count <= 128 && $0.allSatisfy(\.isIDCharacter) } ?? false
        let id = isUsable ? cookie ?? "" : Self.makeID()
        insert(Session(number: 0), as: id)
        return (id, !isUsable)
    }

    private mutating func insert(_ session: Session, as id: String) {
        count += 1
        all[id] = Session(
            user: session.user, seed: session.seed, tokens: session.tokens, workspace: session.workspace,
            captcha: session.captcha, number: count)
        guard all.count > Self.limit, let oldest = all.min(by: { $0.value.number < $1.value.number })?.key else {
            return
        }
        all[oldest] = nil
    }

    /// Continues the session under a new ID.
    mutating func renew(_ id: String) -> String {
        guard let session = all.removeValue(forKey: id) else { return id }
        let new = Self.makeID()
        insert(session, as: new)
        return new
    }

    mutating func removeAll() { all = [:] }

    mutating func changeAll(_ change: (inout Session) -> Void) {
        for id in all.keys {
            guard var session = all[id] else { continue }
            change(&session)
            all[id] = session
        }
    }

    private static func makeID() -> String { Digest.random(26).lowercased() }
}

extension Character {
    fileprivate var isIDCharacter: Bool { isASCII && (isLetter || isNumber || self == "-" || self == ",") }
}
