// swift-tools-version: 6.3

import PackageDescription

#if !os(Linux)
    #error("PusherSwift is for Linux: on Apple's systems, use Pusher's own client.")
#endif

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// MARK: - The rooms, from the ground up

/// Values and machines without a protocol, and the client's only I/O.
let core = Room(
    "Core",
    targets: [
        .systemLibrary(name: "CLinux"),  // inline functions, like CVector
        .systemLibrary(name: "CVector"),
        .systemLibrary(name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibsodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        library("Basics", ["CLibcrypto"]),
        library("JSONBytes", ["CVector"]),
        library("PeerLog", ["Basics", swiftLog]),
        // These cannot import the network.
        library("Transport", ["Basics", "CVector", "CZlib"]),
        library("Realtime", ["Basics", "JSONBytes", "Transport", "CVector"]),
        library("CurlTransport", ["Basics", "Realtime", "Transport", "CLibcurl", "CLinux"]),
    ],
    tests: [
        support("TestSupport", ["CLibcrypto", "CLinux", swiftLog] + pure),
        suites("BasicsTests", []),
        suites("JSONBytesTests", []),
        suites("TransportTests", []),
        suites("RealtimeTests", []),
        suites("CurlTransportTests", ["CurlTransport", "CLibcurl", "CLinux"] + nioServer + [nioSSL]),
    ])

/// Channels: the client, the HTTP API, and the mock server.
let pusher = Room(
    "Pusher",
    traits: ["MetricsSupport", "DistributedTracingSupport"],
    products: [
        .library(name: "PusherSwift", targets: ["PusherSwift"]),
        .library(name: "PusherHTTP", targets: ["PusherHTTP"]),
        .library(name: "PusherMockServer", targets: ["PusherMockServer"]),
    ],
    targets: [
        library("PusherProtocol", ["CLibcrypto", "CLibsodium", "CVector"] + pure),
        library(
            "PusherSwift",
            ["PusherProtocol", "PeerLog", swiftLog] + client + [
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["MetricsSupport"])),
                serviceLifecycle("ServiceLifecycle"),
            ]),
        library(
            "PusherHTTP",
            ["PusherProtocol"] + client + [
                .product(
                    name: "Tracing", package: "swift-distributed-tracing",
                    condition: .when(traits: ["DistributedTracingSupport"]))
            ]),
        library(
            "PusherMockServer",
            ["PusherProtocol", "Basics", "Transport", mockServerTLS] + nioServer),
    ],
    tests: [
        support("PusherTestSupport", ["PusherSwift", "PusherMockServer", "TestSupport", "Basics"]),
        // The client played by hand; without the network.
        support("PusherProtocolTestSupport", ["PusherProtocol", "TestSupport"] + pure),
        suites("PusherProtocolTests", ["PusherProtocol", "PusherProtocolTestSupport"]),
        suites(
            "PusherSwiftTests",
            [
                "PusherSwift", "PusherMockServer", "PusherProtocol", "PusherTestSupport", "PusherProtocolTestSupport",
                swiftLog, serviceLifecycle("ServiceLifecycle"), serviceLifecycle("ServiceLifecycleTestKit"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]),
        suites(
            "PusherHTTPTests",
            [
                "PusherHTTP", "PusherMockServer", "PusherProtocol",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ]),
        suites("PusherMockServerTests", ["PusherMockServer", "PusherProtocol", mockServerTLS] + nioServer),
        // What strangers can do; the table of SECURITY.md names these tests.
        suites(
            "SecurityTests",
            [
                "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "PusherTestSupport",
                "PusherProtocolTestSupport", "CurlTransport", swiftLog,
            ]),
    ])

/// Rooms, with encryption and stores.
let matrix = Room(
    "Matrix",
    testsNeed: [pusher],
    products: [
        .library(name: "MatrixSDK", targets: ["MatrixSDK", "LinuxCombine"]),
        .library(name: "SwiftMatrixSDK", targets: ["SwiftMatrixSDK", "LinuxCombine"]),
    ],
    targets: [
        library("LinuxCombine", ["Basics"]),
        library("MatrixEncryption", ["Basics", "JSONBytes", "CLibcrypto", "CLibsodium"]),
        library("MatrixProtocol", ["MatrixEncryption"] + pure),
        library(
            "MatrixSDK", ["MatrixProtocol", "MatrixEncryption", "PeerLog", "LinuxCombine", swiftLog, grdb] + client),
        // Its calls with callbacks.
        library("SwiftMatrixSDK", ["MatrixSDK", "Realtime", "Basics"]),
    ],
    tests: [
        // A homeserver's keys, and devices; without the network.
        support("EncryptionTestSupport", ["MatrixEncryption", "JSONBytes"]),
        support(
            "MatrixTestSupport",
            ["EncryptionTestSupport", "MatrixEncryption", "MatrixProtocol", "JSONBytes", "TestSupport", "Basics"]
                + nioServer + [nioSSL]),
        // A session whose homeserver follows a script.
        support("MatrixSessionTestSupport", ["MatrixSDK", "MatrixTestSupport", "TestSupport", "Basics", "Transport"]),
        suites("LinuxCombineTests", ["LinuxCombine"]),
        suites("MatrixProtocolTests", ["MatrixProtocol"]),
        suites("MatrixEncryptionTests", ["MatrixEncryption", "EncryptionTestSupport"]),
        suites(
            "MatrixSDKTests",
            [
                "MatrixSDK", "SwiftMatrixSDK", "MatrixProtocol", "MatrixEncryption", "PusherSwift", "PusherTestSupport",
                "MatrixTestSupport", "MatrixSessionTestSupport", "EncryptionTestSupport", "LinuxCombine",
                "CurlTransport",
            ]),
        suites("MatrixStoreTests", ["MatrixSDK", "MatrixProtocol", "MatrixEncryption", "MatrixKill", grdb]),
        // Writes into a store, is killed, and looks at what is left.
        tool("MatrixKill", ["MatrixSDK", "MatrixProtocol", "TestSupport"]),
        // Programs as users write them, with the imports of their documents and no settings of ours. Their sources say
        // `import Combine`: a user's manifest has the same line. One of them imports SwiftMatrixSDK; without
        // MemberImportVisibility, its callback forms are then visible in the files that import MatrixSDK alone.
        .testTarget(
            name: "MatrixSampleTests",
            dependencies: ["MatrixSDK", "SwiftMatrixSDK", "LinuxCombine", "MatrixTestSupport"],
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-module-alias", "Combine=LinuxCombine"])]),
    ])

/// Text, surfaces and keys of a terminal. Knows none of the protocols.
let terminal = Room(
    "Terminal",
    traits: ["JPEGImages"],
    products: [.library(name: "TerminalUI", targets: ["TerminalUI"])],
    targets: [
        .systemLibrary(name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
        library(
            "TerminalUI", ["Basics", "CZlib", .target(name: "CTurboJPEG", condition: .when(traits: ["JPEGImages"]))]),
    ],
    tests: [suites("TerminalUITests", ["TerminalUI", "CZlib"])])

/// Rooms, lists and members of Matrix as cells, for any front end and for a terminal.
let chat = Room(
    "Chat",
    needs: [matrix, terminal],
    products: [
        .library(name: "MatrixKit", targets: ["MatrixKit", "MatrixSDK"]),
        .library(name: "MatrixKitTerminal", targets: ["MatrixKitTerminal", "MatrixKit", "MatrixSDK", "TerminalUI"]),
    ],
    targets: [
        library("MatrixKit", ["MatrixSDK", "MatrixProtocol", "Basics", "JSONBytes"]),
        library(
            "MatrixKitTerminal",
            ["MatrixKit", "TerminalUI", "MatrixSDK", "MatrixProtocol", "Basics", "JSONBytes"]),
    ],
    tests: [
        suites(
            "MatrixKitTests",
            [
                "MatrixKit", "MatrixKitTerminal", "TerminalUI", "MatrixSDK", "MatrixProtocol", "MatrixEncryption",
                "MatrixTestSupport", "MatrixSessionTestSupport", "EncryptionTestSupport",
            ])
    ])

/// Workspaces, and folders that are kept the same.
let pydio = Room(
    "Pydio",
    testsNeed: [pusher],
    products: [
        .library(name: "PydioSDK", targets: ["PydioSDK"]),
        .library(name: "PydioSync", targets: ["PydioSync"]),
    ],
    targets: [
        library("PydioProtocol", pure),
        library("PydioSDK", ["PydioProtocol", "PeerLog", swiftLog] + client),
        // Apart, since its state needs SQLite.
        library("PydioSync", ["PydioSDK", "PydioProtocol", grdb] + pure),
    ],
    tests: [
        // Without PydioProtocol: client and server check each other.
        support("PydioTestSupport", ["TestSupport", "Basics", "Transport", "CLibcrypto"] + nioServer + [nioSSL]),
        suites("PydioProtocolTests", ["PydioProtocol"]),
        suites(
            "PydioSDKTests",
            ["PydioSDK", "PydioProtocol", "PusherSwift", "PusherTestSupport", "PydioTestSupport"]),
        suites(
            "PydioSyncTests",
            ["PydioSync", "PydioSDK", "PydioProtocol", "PydioTestSupport", "PydioKill"]),
        // Syncs a folder, is killed, and looks at what is left.
        tool(
            "PydioKill",
            ["PydioSync", "PydioSDK", "PydioProtocol", "PydioTestSupport", "TestSupport", "Basics"]),
    ])

/// Events of many machines in a stream of NATS JetStream. Nothing else is linked with libnats.
let relay = Room(
    "Relay",
    needs: [pusher, matrix, pydio],
    products: [.library(name: "EventRelay", targets: ["EventRelay"])],
    targets: [
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        // Names, ownership and order of what goes into a stream that many machines share.
        library("RelayProtocol", pure),
        library(
            "EventRelay",
            [
                "RelayProtocol", "PusherSwift", "MatrixSDK", "MatrixProtocol", "PydioSDK", "PeerLog", "CNATS", "CLinux",
                swiftLog,
            ] + client),
    ],
    tests: [
        // Starts servers of NATS.
        support("RelayTestSupport", ["TestSupport", "Basics"]),
        suites("RelayProtocolTests", ["RelayProtocol"]),
        // With a nats-server of their own; skipped where there is none.
        suites(
            "EventRelayTests",
            [
                "EventRelay", "RelayProtocol", "CNATS", "CurlTransport", "PusherTestSupport", "PusherSwift",
                "PusherMockServer", "RelayTestSupport", "MatrixSDK", "MatrixTestSupport", "MatrixSessionTestSupport",
                "PydioSDK", "PydioTestSupport",
            ]),
    ])

/// `pusher-cli`.
let command = Room(
    "Command",
    needs: [chat, relay],
    traits: ["MockServerTLS", "NATSRelay", "JPEGImages"],
    products: [.executable(name: "pusher-cli", targets: ["pusher-cli"])],
    targets: [
        // Arguments, words and output that all commands share.
        library(
            "CommandKit",
            [
                "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "MatrixSDK", "MatrixProtocol",
                "PydioSDK", "MatrixKitTerminal", "TerminalUI", "Basics", "JSONBytes", "Transport", "CLinux",
                argumentParser, swiftLog,
            ]),
        library(
            "MatrixCommands",
            [
                "CommandKit", "MatrixSDK", "MatrixProtocol", "MatrixEncryption", "MatrixKit", "MatrixKitTerminal",
                "TerminalUI", "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "Basics", "JSONBytes",
                argumentParser, nioCore, nioPosix, nioHTTP1,
            ]),
        library(
            "PydioCommands", ["CommandKit", "PydioSDK", "PydioSync", "PusherSwift", "Basics", argumentParser]),
        library(
            "RelayCommands",
            [
                "CommandKit", "MatrixCommands", "PydioCommands", "PusherSwift", "PusherHTTP", "MatrixSDK", "PydioSDK",
                "Basics", "CurlTransport", .target(name: "EventRelay", condition: .when(traits: ["NATSRelay"])),
                argumentParser,
            ]),
        // Those of channels, and those of all protocols: listen, context, doctor.
        library(
            "PusherCommands",
            [
                "CommandKit", "MatrixCommands", "PydioCommands", "PusherSwift", "PusherHTTP", "PusherMockServer",
                "PusherProtocol", "MatrixSDK", "MatrixProtocol", "PydioSDK", "MatrixKit", "MatrixKitTerminal",
                "TerminalUI", "Basics", "JSONBytes", "Transport", argumentParser, swiftLog,
            ]),
        .executableTarget(
            name: "pusher-cli",
            dependencies: [
                "CommandKit", "PusherCommands", "MatrixCommands", "PydioCommands", "RelayCommands", "PusherSwift",
                argumentParser,
            ],
            swiftSettings: swiftSettings, linkerSettings: [skipsArgumentChecks]),
    ],
    tests: [
        suites(
            "CommandTests",
            [
                "pusher-cli", "CommandKit", "PusherCommands", "MatrixCommands", "PydioCommands", "RelayCommands",
                "PusherMockServer", "PusherHTTP", "PusherProtocolTestSupport", "MatrixSDK", "MatrixProtocol",
                "MatrixEncryption", "MatrixTestSupport", "EncryptionTestSupport", "TerminalUI", "PydioSDK",
                "PydioTestSupport", "RelayTestSupport", "EventRelay", "RelayProtocol", argumentParser,
            ]),
        // Programs written for older versions of the library, as they are: in Swift 5 mode.
        .testTarget(
            name: "SourceCompatibilityTests",
            dependencies: ["PusherSwift", "PusherMockServer", "SwiftMatrixSDK", "PydioSDK", "TestSupport"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // Against real homeservers; skipped without them.
        suites(
            "MatrixServerTests",
            ["MatrixSDK", "MatrixProtocol", "CurlTransport", "pusher-cli", "CommandKit", "MatrixCommands"],
            exclude: ["README.md"]),
    ])

/// Tools that check the project.
let lab = Room(
    "Lab",
    needs: [command],
    traits: command.traits,
    tests: [
        // Random schedules against the real machines and driver, on a simulated clock, network and server.
        tool(
            "simulate",
            [
                "CurlTransport", "MatrixSDK", "MatrixProtocol", "MatrixEncryption", "EncryptionTestSupport",
                "PydioProtocol", "PusherProtocol", "RelayProtocol", "CLibcrypto",
            ] + pure),
        suites("SimulationTests", ["simulate", "CurlTransport"]),
        // The Pydio server of the tests as a process.
        tool("pydio-mock", ["PydioTestSupport"]),
        // The peer of Autobahn.
        tool("ConformancePeer", ["CurlTransport", "PusherMockServer", "Transport"]),
        // MatrixEncryption for peers of other implementations.
        tool("EncryptionPeer", ["MatrixEncryption", "JSONBytes"]),
        // Benchmarks of what is not public: see Lab/Benchmarks/README.md.
        tool("MatrixBench", ["MatrixProtocol", "MatrixSDK"], in: "Benchmarks/Sources/MatrixBench"),
        tool("EncryptionBench", ["MatrixEncryption", "JSONBytes"], in: "Benchmarks/Sources/EncryptionBench"),
        // What `make -C Lab fuzz` lets libFuzzer loose on is played through with the corpora of Fixtures/fuzz.
        Context.environment["FUZZ"] == nil
            ? suites("FuzzTests", fuzzedProtocols, exclude: ["LibFuzzer.swift"])
            : .executableTarget(
                name: "fuzz", dependencies: fuzzedProtocols + pure, path: "Tests/Lab/FuzzTests",
                exclude: ["CorpusTests.swift"],
                swiftSettings: swiftSettings),
    ])

let rooms = [core, pusher, matrix, terminal, chat, pydio, relay, command, lab]

// MARK: - The package

let chosen = Scope(rooms, always: [core])

/// Each brings a package that targets cannot do without, and that a user of the other products does not resolve.
let packageTraits: Set = ["SQLiteStores", "MockServer", "CommandLineTool"]
// The other traits cost a user much build time, or bring packages that not everybody wants. The Makefile sets ALL_TRAITS: the
// tests want them all. Somebody who works on some rooms wants what these need, and to be done in minutes.
let usualTraits = packageTraits.union(["ServiceLifecycleSupport", "MetricsSupport", "DistributedTracingSupport"])
let defaultTraits =
    if chosen.isWhole {
        Context.environment["ALL_TRAITS"] == nil ? usualTraits : usualTraits.union(command.traits)
    } else {
        packageTraits.union(chosen.traits)
    }

let package = Package(
    name: "PusherSwift",
    products: chosen.products,
    traits: [
        .trait(name: "SQLiteStores", description: "MatrixSDK, MatrixKit, PydioSync and EventRelay; brings GRDB.swift."),
        .trait(name: "MockServer", description: "PusherMockServer; brings swift-nio."),
        .trait(
            name: "CommandLineTool", description: "pusher-cli; brings swift-argument-parser.",
            enabledTraits: ["SQLiteStores", "MockServer"]),
        .trait(
            name: "ServiceLifecycleSupport",
            description: "Pusher is a Service of swift-service-lifecycle, which brings swift-collections with it."),
        .trait(name: "MetricsSupport", description: "PusherMetrics counts with swift-metrics."),
        .trait(
            name: "DistributedTracingSupport",
            description: "Calls of the HTTP API are spans of swift-distributed-tracing."),
        .trait(
            name: "MockServerTLS",
            description: "The mock server speaks TLS, by BoringSSL, which takes minutes to build.",
            enabledTraits: ["MockServer"]),
        .trait(
            name: "NATSRelay",
            description: "pusher-cli has relay, consume and publish-from, and needs libnats.",
            enabledTraits: ["CommandLineTool"]),
        .trait(
            name: "JPEGImages",
            description: "TerminalUI and pusher-cli matrix chat show JPEG images, and need libjpeg-turbo."),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: chosen.needed([
        "swift-log": .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        "swift-metrics": .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        "swift-distributed-tracing": .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        "swift-service-lifecycle":
            .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        "swift-argument-parser": .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        "GRDB.swift": .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        "swift-nio": .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        "swift-nio-ssl": .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    ]),
    targets: chosen.targets
)

// MARK: - Dependencies that often go together

var pure: [Target.Dependency] { ["Basics", "JSONBytes", "Realtime", "Transport"] }
var client: [Target.Dependency] { ["CurlTransport"] + pure }
var fuzzedProtocols: [Target.Dependency] {
    [
        "PusherMockServer", "PusherProtocol", "MatrixProtocol", "MatrixEncryption", "PydioProtocol", "TerminalUI",
        "CLibcrypto",
    ]
}

var swiftLog: Target.Dependency { .product(name: "Logging", package: "swift-log") }
var argumentParser: Target.Dependency {
    .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["CommandLineTool"]))
}
var grdb: Target.Dependency {
    .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLiteStores"]))
}
var nioCore: Target.Dependency { nio("NIOCore") }
var nioPosix: Target.Dependency { nio("NIOPosix") }
var nioHTTP1: Target.Dependency { nio("NIOHTTP1") }
func nio(_ product: String) -> Target.Dependency {
    .product(name: product, package: "swift-nio", condition: .when(traits: ["MockServer"]))
}
var nioSSL: Target.Dependency { .product(name: "NIOSSL", package: "swift-nio-ssl") }
func serviceLifecycle(_ product: String) -> Target.Dependency {
    .product(
        name: product, package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycleSupport"]))
}
var mockServerTLS: Target.Dependency {
    .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["MockServerTLS"]))
}
var nioServer: [Target.Dependency] {
    [nioCore, nioPosix, nioHTTP1, nio("NIOWebSocket")]
}

// MARK: - Kinds of targets

/// Keeps ArgumentParser's debug builds from checking how a group of options is declared, with the groups inside, each time
/// that they look at it. That took most of half a second for each command; EveryCommandTests checks them all, once.
var skipsArgumentChecks: LinkerSetting {
    let check = "$s14ArgumentParser17ParsableArgumentsPAAE9_validate6parentyAA8InputKeyVSg_tKFZ"
    return .unsafeFlags(
        ["-Xlinker", "--wrap=\(check)", "-Xlinker", "--defsym=__wrap_\(check)=pusher_cli_checks_nothing"],
        .when(configuration: .debug))
}

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

func tool(_ name: String, _ dependencies: [Target.Dependency], in folder: String? = nil) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Lab/" + (folder ?? "Sources/" + name),
        swiftSettings: swiftSettings)
}

/// Code that suites share.
func support(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

@MainActor
func suites(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["TestSupport"] + pure, exclude: exclude, swiftSettings: swiftSettings)
}

// MARK: - What a room is

/// A domain: the folders Sources/NAME and Tests/NAME.
struct Room {
    let name: String
    /// Rooms that it imports besides Core.
    let needs: [Room]
    /// Rooms that its tests import besides.
    let testsNeed: [Room]
    /// Those that its tests cannot do without: others are tested with the whole.
    let traits: Set<String>
    let products: [Product]
    let targets: [Target]
    let tests: [Target]

    init(
        _ name: String, needs: [Room] = [], testsNeed: [Room] = [], traits: Set<String> = [], products: [Product] = [],
        targets: [Target] = [], tests: [Target]
    ) {
        (self.name, self.needs, self.testsNeed, self.traits) = (name, needs, testsNeed, traits)
        (self.products, self.targets, self.tests) = (products, targets, tests)
        for target in targets where target.path == nil {
            target.path = "Sources/\(name)/" + (target.type == .system ? "C/" : "") + target.name
        }
        for target in tests where target.path == nil { target.path = "Tests/\(name)/" + target.name }
    }
}

/// The rooms that SCOPE names, with their tests, and those that they need: SCOPE="pusher matrix" swift build. Without it,
/// all of them.
///
/// TEST_TARGETS="TransportTests RealtimeTests" keeps these test targets alone: what the others need is not built then.
struct Scope {
    let products: [Product]
    let targets: [Target]
    let traits: Set<String>
    let isWhole: Bool

    init(_ rooms: [Room], always: [Room]) {
        let names = Self.words("SCOPE")?.map { $0.lowercased() } ?? []
        for name in names where !rooms.contains(where: { $0.name.lowercased() == name }) {
            fatalError("SCOPE: there is no room \(name); the rooms are \(rooms.map(\.name).joined(separator: ", "))")
        }
        let tested = names.isEmpty ? rooms : rooms.filter { names.contains($0.name.lowercased()) }
        let needed = Self.all(always + tested.flatMap { [$0] + $0.testsNeed })
        products = needed.flatMap(\.products)
        isWhole = names.isEmpty
        traits = Set(tested.flatMap(\.traits))
        let testTargets = Self.words("TEST_TARGETS")
        targets = needed.flatMap { room in
            let isTested = tested.contains { $0.name == room.name }
            return room.targets
                + room.tests.filter { target in
                    target.type == .test ? isTested && testTargets?.contains(target.name) ?? true : true
                }
        }
    }

    /// With everything that they need, each once.
    private static func all(_ rooms: [Room]) -> [Room] {
        var result: [Room] = []
        for room in rooms {
            for one in all(room.needs) + [room] where !result.contains(where: { $0.name == one.name }) {
                result.append(one)
            }
        }
        return result
    }

    /// The packages of which a target uses something.
    func needed(_ packages: KeyValuePairs<String, Package.Dependency>) -> [Package.Dependency] {
        let used = targets.flatMap(\.dependencies).compactMap { dependency -> String? in
            if case .productItem(_, let package, _, _) = dependency { package } else { nil }
        }
        return packages.filter { used.contains($0.key) }.map(\.value)
    }

    private static func words(_ variable: String) -> [String]? {
        Context.environment[variable]?.split(separator: " ").map(String.init)
    }
}
