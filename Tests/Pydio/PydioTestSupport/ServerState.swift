import Foundation

/// The whole state of a server as a value: takes requests, returns answers.
struct ServerState: Sendable {
    var configuration: FakePydioServer.Configuration
    var sessions = SessionTable()
    var failures = LoginFailures()
    /// Users by the cookies of their remembered logins.
    var remembered: [String: String] = [:]
    /// The text of the newest captcha image.
    var captchaCode: String?
    var trees: [TreeKey: Tree] = [:]
    var bookmarks: [TreeKey: [String: [Bookmark]]] = [:]
    /// Public links by node, oldest first.
    var shares: [TreeKey: [TreePath: [FakePydioLink]]] = [:]
    var chunkedDownloads: [String: ChunkedDownload] = [:]
    var mailboxes = Mailboxes()
    var messageCount = 0
    var changes = ChangeLog()
    var journal: ChangeJournal?
    /// All activities, oldest first.
    var activities: [Activity] = []
    var keyPairs = KeyPairs()
    var peers: [Int: Peer] = [:]
    var peerCount = 0
    /// Messages to send once the lock is released.
    var outbox: [(peer: Int, text: String)] = []
    /// All texts received on WebSockets.
    var webSocketTexts: [String] = []
    /// The number of the server's answered pings.
    var pongCount = 0
    private var nodeCount = 0
    /// An offset to the current time.
    var clockOffset = 0

    var requests: [FakePydioRequest] = []
    var requestCounts: [String: Int] = [:]
    var faults = FaultTable()
    /// The server's scheme, host and port.
    var origin = ""

    init(_ configuration: FakePydioServer.Configuration) {
        self.configuration = configuration
        guard let journal = configuration.journal.flatMap(ChangeJournal.init) else { return }
        replay(journal.entries)
        self.journal = journal
    }

    var mode: FakePydioMode { configuration.mode }
    var now: Int { Int(Date().timeIntervalSince1970) + clockOffset }

    func user(_ id: String) -> FakePydioUser? { configuration.users.first { $0.id == id } }
    func workspace(_ id: String) -> FakePydioWorkspace? { configuration.workspaces.first { $0.id == id } }

    /// The workspaces in which a user has any right.
    func workspaces(of user: FakePydioUser) -> [FakePydioWorkspace] {
        configuration.workspaces.filter { user.rights(in: $0.id) != nil }
            + (user.isAdministrator ? [FakePydioWorkspace.console] : [])
    }

    mutating func makeNodeID() -> Int {
        nodeCount += 1
        return nodeCount
    }

    func tree(_ key: TreeKey) -> Tree {
        trees[key] ?? Tree(hasRecycleBin: workspace(key.workspace)?.hasRecycleBin ?? false, now: now)
    }

    mutating func changeTree<Result>(_ key: TreeKey, _ body: (inout Tree) -> Result) -> Result {
        var tree = trees.removeValue(forKey: key) ?? tree(key)
        defer { trees[key] = tree }
        return body(&tree)
    }

    // MARK: Requests

    mutating func record(_ request: FakePydioRequest) {
        requestCounts[request.action ?? "", default: 0] += 1
        guard requests.count < configuration.historyLimit else { return }
        requests.append(request.abridged)
    }

    mutating func answer(to request: FakePydioRequest) -> FakePydioAnswer {
        let base = configuration.basePath
        guard request.rawPath.hasPrefix(base) else { return .notFound }
        switch String(request.rawPath.dropFirst(base.count)) {
        case "", "/", "/index.php": return sessionAnswer(to: request)
        case Self.loginPage: return .loginPage
        case let path where path.hasPrefix("/api/"): return restAnswer(to: request)
        case _: return .notFound
        }
    }

    static let loginPage = "/login.html"
}

extension FakePydioAnswer {
    static let notFound = html("<html><body><h1>404 Not Found</h1></body></html>", status: 404)
    package static let loginPage = html(
        #"<!DOCTYPE html><html><head><title>Sign in</title></head><body><form method="post"></form></body></html>"#)
}
