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

// What costs a user much to build, or brings packages that not everybody wants. The Makefile sets ALL_TRAITS, since the
// tests want them all.
let usualTraits: Set = ["ServiceLifecycleSupport", "MetricsSupport", "DistributedTracingSupport"]
let otherTraits: Set = ["MockServerTLS", "NATSRelay", "JPEGImages"]
let defaultTraits = Context.environment["ALL_TRAITS"] == nil ? usualTraits : usualTraits.union(otherTraits)

let package = Package(
    name: "PusherSwift",
    products: [
        .library(name: "PusherSwift", targets: ["PusherSwift"]),
        .library(name: "PusherHTTP", targets: ["PusherHTTP"]),
        .library(name: "PusherMockServer", targets: ["PusherMockServer"]),
        .library(name: "MatrixSDK", targets: ["MatrixSDK", "LinuxCombine"]),
        .library(name: "SwiftMatrixSDK", targets: ["SwiftMatrixSDK", "LinuxCombine"]),
        .library(name: "PydioSDK", targets: ["PydioSDK"]),
        .library(name: "PydioSync", targets: ["PydioSync"]),
        .library(name: "MatrixKit", targets: ["MatrixKit", "MatrixSDK"]),
        .library(name: "EventRelay", targets: ["EventRelay"]),
        .library(name: "TerminalUI", targets: ["TerminalUI"]),
        .library(name: "MatrixKitTerminal", targets: ["MatrixKitTerminal", "MatrixKit", "MatrixSDK", "TerminalUI"]),
        .executable(name: "pusher-cli", targets: ["pusher-cli"]),
    ],
    traits: [
        .trait(
            name: "ServiceLifecycleSupport",
            description: "Pusher is a Service of swift-service-lifecycle, which brings swift-collections with it."),
        .trait(name: "MetricsSupport", description: "PusherMetrics counts with swift-metrics."),
        .trait(
            name: "DistributedTracingSupport",
            description: "Calls of the HTTP API are spans of swift-distributed-tracing."),
        .trait(
            name: "MockServerTLS",
            description: "The mock server speaks TLS, by BoringSSL, which takes minutes to build."),
        .trait(
            name: "NATSRelay",
            description: "pusher-cli has relay, consume and publish-from, and needs libnats."),
        .trait(
            name: "JPEGImages",
            description: "TerminalUI and pusher-cli matrix chat show JPEG images, and need libjpeg-turbo."),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    ],
    targets: libraries + command + tools + testSupport + tests
)

// MARK: - The product

/// From the bottom up; whoever stands below may not import what stands above.
var libraries: [Target] {
    [
        // The system's C libraries, and two sets of inline functions.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CVector"),
        .systemLibrary(name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibsodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),

        // No protocol.
        library("Basics", ["CLibcrypto"]),
        library("JSONBytes", ["CVector"]),
        library("PeerLog", ["Basics", swiftLog]),
        library("LinuxCombine", ["Basics"]),

        // Protocols as values and machines. They cannot import the network.
        library("Transport", ["Basics", "CVector", "CZlib"]),
        library("Realtime", ["Basics", "JSONBytes", "Transport", "CVector"]),
        library("PusherProtocol", ["CLibcrypto", "CLibsodium", "CVector"] + .pure),
        library("MatrixEncryption", ["Basics", "JSONBytes", "CLibcrypto", "CLibsodium"]),
        library("MatrixProtocol", ["MatrixEncryption"] + .pure),
        library("PydioProtocol", .pure),
        // Names, ownership and order of what goes into a stream that many machines share.
        library("RelayProtocol", .pure),

        // The client's only I/O.
        library("CurlTransport", ["Basics", "Realtime", "Transport", "CLibcurl", "CLinux"]),

        // What users import.
        library(
            "PusherSwift",
            ["PusherProtocol", "PeerLog", swiftLog] + client + [
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["MetricsSupport"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycleSupport"])),
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
            ["PusherProtocol", "Basics", "Transport"] + nioServer + [
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["MockServerTLS"]))
            ]),
        library(
            "MatrixSDK", ["MatrixProtocol", "MatrixEncryption", "PeerLog", "LinuxCombine", swiftLog, grdb] + client),
        // Its calls with callbacks.
        library("SwiftMatrixSDK", ["MatrixSDK", "Realtime", "Basics"]),
        // Rooms, lists and members as cells, for any front end.
        library("MatrixKit", ["MatrixSDK", "MatrixProtocol", "Basics", "JSONBytes"]),
        library("PydioSDK", ["PydioProtocol", "PeerLog", swiftLog] + client),
        // Apart, since its state needs SQLite.
        library("PydioSync", ["PydioSDK", "PydioProtocol", grdb] + .pure),
        // Events of many machines in a stream of NATS JetStream. Nothing else is linked with libnats.
        library(
            "EventRelay",
            [
                "RelayProtocol", "PusherSwift", "MatrixSDK", "MatrixProtocol", "PydioSDK", "PeerLog", "CNATS", "CLinux",
                swiftLog,
            ] + client),
        // Text, surfaces and keys of a terminal. Knows none of the protocols.
        library(
            "TerminalUI", ["Basics", "CZlib", .target(name: "CTurboJPEG", condition: .when(traits: ["JPEGImages"]))]),
        // The kit's cells and screens on a terminal.
        library(
            "MatrixKitTerminal",
            ["MatrixKit", "TerminalUI", "MatrixSDK", "MatrixProtocol", "Basics", "JSONBytes"]),
    ]
}

var command: [Target] {
    [
        .executableTarget(
            name: "pusher-cli",
            dependencies: [
                "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "MatrixSDK", "MatrixProtocol",
                "MatrixEncryption", "PydioSDK", "PydioSync", "MatrixKit", "MatrixKitTerminal", "TerminalUI", "Basics",
                "JSONBytes", "Transport", "CLinux",
                .target(name: "EventRelay", condition: .when(traits: ["NATSRelay"])),
                argumentParser, swiftLog, nioCore, nioPosix, nioHTTP1,
            ],
            swiftSettings: swiftSettings)
    ]
}

// MARK: - What the project itself needs

var tools: [Target] {
    [
        // Random schedules against the real machines and driver, on a simulated clock, network and server.
        tool(
            "simulate",
            [
                "CurlTransport", "MatrixSDK", "MatrixProtocol", "MatrixEncryption", "EncryptionTestSupport",
                "PydioProtocol", "PusherProtocol", "RelayProtocol", "CLibcrypto",
            ] + .pure),
        // The Pydio server of the tests as a process.
        tool("pydio-mock", ["PydioTestSupport"]),
        // Writes into a store, is killed, and looks at what is left.
        tool("MatrixKill", ["MatrixSDK", "MatrixProtocol", "TestSupport"]),
        // Syncs a folder, is killed, and looks at what is left.
        tool(
            "PydioKill",
            ["PydioSync", "PydioSDK", "PydioProtocol", "PydioTestSupport", "TestSupport", "Basics"]),
        // The peer of Autobahn.
        tool("ConformancePeer", ["CurlTransport", "PusherMockServer", "Transport"]),
        // MatrixEncryption for peers of other implementations.
        tool("EncryptionPeer", ["MatrixEncryption", "JSONBytes"]),
        // Benchmarks of what is not public: see Benchmarks/README.md.
        tool("MatrixBench", ["MatrixProtocol", "MatrixSDK"], path: "Benchmarks/Sources/MatrixBench"),
        tool("EncryptionBench", ["MatrixEncryption", "JSONBytes"], path: "Benchmarks/Sources/EncryptionBench"),
    ]
}

var testSupport: [Target] {
    [
        support("TestSupport", ["CLibcrypto", "CLinux", "PusherProtocol", swiftLog] + .pure),
        support("PusherTestSupport", ["PusherSwift", "PusherMockServer", "TestSupport", "Basics"]),
        // A homeserver's keys, and devices; without the network.
        support("EncryptionTestSupport", ["MatrixEncryption", "JSONBytes"]),
        support(
            "MatrixTestSupport",
            ["EncryptionTestSupport", "MatrixEncryption", "MatrixProtocol", "JSONBytes", "TestSupport", "Basics"]
                + nioServer + [nioSSL]),
        // A session whose homeserver follows a script.
        support("MatrixSessionTestSupport", ["MatrixSDK", "MatrixTestSupport", "TestSupport", "Basics", "Transport"]),
        // Starts servers of NATS.
        support("RelayTestSupport", ["TestSupport", "Basics"]),
        // Without PydioProtocol: client and server check each other.
        support("PydioTestSupport", ["TestSupport", "Basics", "Transport", "CLibcrypto"] + nioServer + [nioSSL]),
    ]
}

var tests: [Target] {
    [
        suites("BasicsTests", []),
        suites(
            "MatrixKitTests",
            [
                "MatrixKit", "MatrixKitTerminal", "TerminalUI", "MatrixSDK", "MatrixProtocol", "MatrixEncryption",
                "MatrixTestSupport", "MatrixSessionTestSupport", "EncryptionTestSupport",
            ]),
        suites("TerminalUITests", ["TerminalUI", "CZlib"]),
        suites("JSONBytesTests", []),
        suites("LinuxCombineTests", ["LinuxCombine"]),
        suites("TransportTests", []),
        suites("RealtimeTests", []),
        suites("PusherProtocolTests", ["PusherProtocol"]),
        suites("MatrixProtocolTests", ["MatrixProtocol"]),
        suites("MatrixEncryptionTests", ["MatrixEncryption", "EncryptionTestSupport"]),
        suites("PydioProtocolTests", ["PydioProtocol"]),
        suites("RelayProtocolTests", ["RelayProtocol"]),
        suites("CurlTransportTests", ["CurlTransport", "CLibcurl", "CLinux"] + nioServer + [nioSSL]),
        suites(
            "PusherSwiftTests",
            ["PusherSwift", "PusherMockServer", "PusherProtocol", "PusherTestSupport", swiftLog] + [
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]),
        suites(
            "PusherHTTPTests",
            [
                "PusherHTTP", "PusherMockServer", "PusherProtocol",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ]),
        suites("PusherMockServerTests", ["PusherMockServer", "PusherProtocol"] + nioServer + [nioSSL]),
        suites(
            "MatrixSDKTests",
            [
                "MatrixSDK", "SwiftMatrixSDK", "MatrixProtocol", "MatrixEncryption", "PusherSwift", "PusherTestSupport",
                "MatrixTestSupport", "MatrixSessionTestSupport", "EncryptionTestSupport", "LinuxCombine",
                "CurlTransport",
            ]),
        suites("MatrixStoreTests", ["MatrixSDK", "MatrixProtocol", "MatrixEncryption", "MatrixKill", grdb]),
        suites(
            "PydioSDKTests",
            ["PydioSDK", "PydioProtocol", "PusherSwift", "PusherTestSupport", "PydioTestSupport"]),
        suites(
            "PydioSyncTests",
            ["PydioSync", "PydioSDK", "PydioProtocol", "PydioTestSupport", "PydioKill"]),
        // With a nats-server of their own; skipped where there is none.
        suites(
            "EventRelayTests",
            [
                "EventRelay", "RelayProtocol", "CNATS", "CurlTransport", "PusherTestSupport", "PusherSwift",
                "PusherMockServer", "RelayTestSupport", "MatrixSDK", "MatrixTestSupport", "MatrixSessionTestSupport",
                "PydioSDK", "PydioTestSupport",
            ]),
        suites(
            "CommandTests",
            [
                "pusher-cli", "PusherMockServer", "PusherHTTP", "MatrixSDK", "MatrixProtocol", "MatrixEncryption",
                "MatrixTestSupport", "EncryptionTestSupport", "TerminalUI", "PydioSDK", "PydioTestSupport",
                "RelayTestSupport", "EventRelay", "RelayProtocol", argumentParser,
            ]),
        suites("SimulationTests", ["simulate", "CurlTransport"]),
        // What strangers can do; the table of SECURITY.md names these tests.
        suites(
            "SecurityTests",
            [
                "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "PusherTestSupport", "CurlTransport",
                swiftLog,
            ]),
        // Against the homeservers of `make matrix-test`; skipped without them.
        suites(
            "MatrixServerTests", ["MatrixSDK", "MatrixProtocol", "CurlTransport", "pusher-cli"], exclude: ["README.md"]),
        // Programs written for older versions of the library, as they are: in Swift 5 mode.
        .testTarget(
            name: "SourceCompatibilityTests",
            dependencies: ["PusherSwift", "PusherMockServer", "SwiftMatrixSDK", "PydioSDK", "TestSupport"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // Programs as users write them, with the imports of their documents and no settings of ours. Their sources say
        // `import Combine`: a user's manifest has the same line. One of them imports SwiftMatrixSDK; without
        // MemberImportVisibility, its callback forms are then visible in the files that import MatrixSDK alone.
        .testTarget(
            name: "MatrixSampleTests",
            dependencies: ["MatrixSDK", "SwiftMatrixSDK", "LinuxCombine", "MatrixTestSupport"],
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-module-alias", "Combine=LinuxCombine"])]),
        // What `make fuzz` lets libFuzzer loose on is played through with the corpora of Fixtures/fuzz.
        Context.environment["FUZZ"] == nil
            ? suites("FuzzTests", fuzzedProtocols, exclude: ["LibFuzzer.swift"])
            : .executableTarget(
                name: "fuzz", dependencies: fuzzedProtocols + .pure, path: "Tests/FuzzTests",
                exclude: ["CorpusTests.swift"],
                swiftSettings: swiftSettings),
    ].filter { chosenTests?.contains($0.name) ?? true }
}

/// TEST_TARGETS="TransportTests RealtimeTests" keeps these test targets alone: what the others need is not built then.
var chosenTests: [String]? {
    Context.environment["TEST_TARGETS"]?.split(separator: " ").map(String.init)
}

// MARK: - Dependencies that often go together

var client: [Target.Dependency] { ["CurlTransport"] + .pure }
var fuzzedProtocols: [Target.Dependency] {
    [
        "PusherMockServer", "PusherProtocol", "MatrixProtocol", "MatrixEncryption", "PydioProtocol", "TerminalUI",
        "CLibcrypto",
    ]
}

var swiftLog: Target.Dependency { .product(name: "Logging", package: "swift-log") }
var argumentParser: Target.Dependency { .product(name: "ArgumentParser", package: "swift-argument-parser") }
var grdb: Target.Dependency { .product(name: "GRDB", package: "GRDB.swift") }
var nioCore: Target.Dependency { .product(name: "NIOCore", package: "swift-nio") }
var nioPosix: Target.Dependency { .product(name: "NIOPosix", package: "swift-nio") }
var nioHTTP1: Target.Dependency { .product(name: "NIOHTTP1", package: "swift-nio") }
var nioSSL: Target.Dependency { .product(name: "NIOSSL", package: "swift-nio-ssl") }
var nioServer: [Target.Dependency] {
    [nioCore, nioPosix, nioHTTP1, .product(name: "NIOWebSocket", package: "swift-nio")]
}

extension [Target.Dependency] {
    static var pure: Self { ["Basics", "JSONBytes", "Realtime", "Transport"] }
}

// MARK: - Kinds of targets

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

func tool(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: path ?? "Tools/" + name, swiftSettings: swiftSettings)
}

func support(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/" + name, swiftSettings: swiftSettings)
}

func suites(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["TestSupport"] + .pure, exclude: exclude, swiftSettings: swiftSettings
    )
}
