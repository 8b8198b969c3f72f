import Basics
package import TestSupport

/// The generation of servers that a ``FakePydioServer`` imitates.
package enum FakePydioMode: String, Sendable, CaseIterable {
    /// 5.2: one secure token per session, WebSockets by its own script.
    case v5_2 = "5.2"
    /// 8: several secure tokens, REST with key pairs, `pydio-booster`.
    case v8 = "8"
}

extension FakePydioServer {
    /// The properties of a server. Each can also be changed while it runs, with ``FakePydioServer/configure(_:)``.
    package struct Configuration: Sendable {
        package var mode: FakePydioMode
        /// A path such as `/pydio` that prefixes all others; empty for the root.
        package var basePath = ""
        package var host = "127.0.0.1"
        package var port = 0
        /// The file that keeps nodes and the numbers of changes for the next process.
        package var journal: String?
        /// Enables TLS with this certificate.
        package var tls: CertificateAuthority.Leaf?
        package var users: [FakePydioUser]
        package var workspaces: [FakePydioWorkspace]
        package var seedForm: SeedForm
        /// Failed logins per address, the last of which is answered with -4; `nil` disables captchas.
        package var captchaAfter: Int? = 3
        /// The text of every captcha image; `nil` for a new one each time.
        package var captchaCode: String?
        /// The value of the answer to every login, valid or not.
        package var loginValue: Int?
        /// The number of entries above which a folder is listed in pages, and the number per page.
        package var pageThreshold = 500
        package var pageSize = 200
        package var hasPolling = true
        /// The polling interval announced to clients, in seconds.
        package var pollerFrequency = 15
        /// The time after which an unused mailbox is discarded.
        package var mailboxExpiry: Duration = .seconds(600)
        package var hasWebSocket = false
        /// The interval of the newer WebSocket server's pings, and its time-out without an answer.
        package var webSocketPing: Duration = .seconds(54)
        package var webSocketPatience: Duration = .seconds(60)
        /// Whether each WebSocket message of the newer server is split into two lines, and thus two frames.
        package var splitsWebSocketMessages = false
        package var hasChanges = true
        /// Whether numbers are sent as strings, as by some database drivers.
        package var changesHaveStrings = true
        package var hasREST: Bool
        /// Servers have it since version 7: those of version 6 have key pairs, but not this.
        package var hasRESTVersion2: Bool
        /// If false, each session needs the password, and a request for a key pair gets an empty answer.
        package var hasKeystore = true
        /// The largest uploaded file that PHP accepts, in bytes (`upload_max_filesize`); `nil` for no limit. The
        /// registry contains it. PHP's own default is 2 MB, which most administrators raise.
        package var uploadLimit: Int? = 2 << 20
        /// Whether the registry contains the limit.
        package var tellsUploadLimit = true
        /// The largest request that PHP accepts, in bytes (`post_max_size`): nothing of a larger one arrives. PHP's own
        /// default.
        package var postLimit: Int? = 8 << 20
        /// The size in bytes below which files are announced as empty, as with PHP's output buffering, unless a range
        /// is requested.
        package var bufferSize = 0
        /// The enabled plugins.
        package var plugins = Set(FakePydioPlugin.allCases)
        /// Whether the search index is still being built.
        package var isIndexing = false
        /// Users and workspaces per page of the administrators' lists.
        package var administrationPageSize = 50
        /// Administrators' sub-actions that the server lacks.
        package var missingSubActions: Set<String> = []
        /// If false, no login outlives its session, whatever a client requests.
        package var remembersLogins = true
        /// If false, users cannot change their passwords: the action does not exist.
        package var letsChangePasswords = true
        /// The minimum length of a new password.
        package var minimumPasswordLength = 8
        /// If false, the newer server does not find the shares of a node.
        package var findsShares = true
        /// If false, a link is only described as the `repository` that was made for it, as in version 5.2.5.
        package var describesMinisites = true
        /// The number of requests to remember.
        package var historyLimit = 100_000

        package init(
            mode: FakePydioMode = .v5_2, users: [FakePydioUser] = FakePydioUser.defaults,
            workspaces: [FakePydioWorkspace] = FakePydioWorkspace.defaults
        ) {
            (self.mode, self.users, self.workspaces) = (mode, users, workspaces)
            seedForm = .clear
            (hasREST, hasRESTVersion2) = (mode == .v8, mode == .v8)
        }

        /// An older server that requires hashed passwords, as an administrator can choose.
        package static var withHashedPasswords: Configuration {
            var configuration = Configuration()
            configuration.seedForm = .text
            return configuration
        }
    }

    /// The answer to `get_seed` when no captcha is due.
    package enum SeedForm: Sendable {
        /// 32 hexadecimal digits.
        case text
        /// -1: the password is sent in the clear.
        case clear
        /// A JSON document without `captcha`.
        case json
    }
}

/// A feature of a ``FakePydioServer`` that an administrator can turn off, or that some kinds of workspaces lack. Its
/// actions are then unknown.
package enum FakePydioPlugin: String, Sendable, CaseIterable {
    case search, hashes, crossCopy, archives, permissions, purge, metadata, comments, locks, quota, watches, feed
}

/// A user of a ``FakePydioServer``.
package struct FakePydioUser: Sendable {
    package enum Condition: Sendable {
        case normal
        /// Sees no workspace before the password has been changed.
        case mustChangePassword
        /// -3: the login succeeds and is ended at once.
        case withoutWorkspace
        /// -1, whatever the password.
        case lockedOut
    }

    package struct Rights: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let read = Rights(rawValue: 1)
        package static let write = Rights(rawValue: 2)
        package static let all: Rights = [.read, .write]
    }

    /// In lower case.
    package var id: String
    /// The MD5 digest, all that the server stores of the password.
    var passwordDigest: String
    /// By workspace ID; other workspaces are inaccessible. `nil` grants all rights in all.
    package var rights: [String: Rights]?
    package var condition: Condition
    package var isAdministrator: Bool
    package var roles: [String] = []
    /// The group of the user; empty for none.
    package var group: String
    /// The user who created this one for sharing.
    package var parent: String?

    package init(
        id: String, password: String, rights: [String: Rights]? = nil, condition: Condition = .normal,
        isAdministrator: Bool = false, group: String = "", parent: String? = nil
    ) {
        (self.id, self.rights, self.condition) = (id, rights, condition)
        (self.isAdministrator, self.group, self.parent) = (isAdministrator, group, parent)
        passwordDigest = Digest.md5(password)
    }

    /// Whether `sent` proves that the client knows the password.
    func isProved(by sent: String?, seed: String) -> Bool {
        guard let sent else { return false }
        return seed == "-1" ? Digest.md5(sent) == passwordDigest : sent == Digest.md5(passwordDigest + seed)
    }

    package func rights(in workspace: String) -> Rights? { rights.map { $0[workspace] } ?? .all }

    /// `ada` with "open sesame" may do everything, `bob` with "pässwörd" can only read "Plans" (0).
    package static let defaults = [
        FakePydioUser(id: "ada", password: "open sesame"),
        FakePydioUser(
            id: "bob", password: "pässwörd", rights: ["0": .read, FakePydioWorkspace.teamID: .all, "1": .all]),
    ]
}

/// A workspace of a ``FakePydioServer``.
package struct FakePydioWorkspace: Sendable {
    package var id: String
    package var slug: String
    package var label: String
    package var description: String?
    /// The user who shares it.
    package var owner: String?
    /// Types that begin with `ajxp_` are pages of the server.
    package var accessType = "fs"
    /// Whether each user has separate files in it.
    package var isPerUser = false
    package var hasRecycleBin = true
    /// The maximum size of all files in bytes; larger uploads are refused.
    package var quota: Int?

    package init(
        id: String, slug: String, label: String, description: String? = nil, owner: String? = nil,
        accessType: String = "fs", isPerUser: Bool = false, hasRecycleBin: Bool = true, quota: Int? = nil
    ) {
        (self.id, self.slug, self.label, self.description, self.owner) = (id, slug, label, description, owner)
        (self.accessType, self.isPerUser, self.hasRecycleBin) = (accessType, isPerUser, hasRecycleBin)
        self.quota = quota
    }

    /// The page that only administrators have.
    static let console = FakePydioWorkspace(
        id: "ajxp_conf", slug: "settings", label: "Settings", accessType: "ajxp_conf", hasRecycleBin: false)

    package static let teamID = "6f0c1d2e3a4b5c6d7e8f901234567890"

    /// "Plans" (0), "My Files" (1, each user's own), "Team" with an id of 32 digits, and a page of the server. All are empty.
    package static let defaults = [
        FakePydioWorkspace(id: "0", slug: "plans", label: "Plans", description: "Drawings & notes"),
        FakePydioWorkspace(id: "1", slug: "my-files", label: "My Files", isPerUser: true),
        FakePydioWorkspace(id: teamID, slug: "team", label: "Team", owner: "Ada", hasRecycleBin: false),
        FakePydioWorkspace(
            id: "ajxp_user", slug: "my-dashboard", label: "Dashboard", accessType: "ajxp_user", hasRecycleBin: false),
    ]
}
