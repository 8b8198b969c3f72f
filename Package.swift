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

let swiftLog: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioServer: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOWebSocket", package: "swift-nio"),
]
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")

// What costs a user much to build, or brings packages that not everybody wants. The Makefile sets ALL_TRAITS, since the
// tests want them all.
let usualTraits: Set = ["ServiceLifecycleSupport", "MetricsSupport", "DistributedTracingSupport"]
let otherTraits: Set = ["MockServerTLS"]
let defaultTraits = Context.environment["ALL_TRAITS"] == nil ? usualTraits : usualTraits.union(otherTraits)

// LinuxCombine stands in for Combine. Not under that name: GRDB, like other packages, compiles other code where a module
// `Combine` can be found.
// What a program writes into its manifest whose sources say `import Combine`.
let combineByItsName: [SwiftSetting] = [.unsafeFlags(["-module-alias", "Combine=LinuxCombine"])]

let package = Package(
    name: "PusherSwift",
    products: [
        .library(name: "PusherSwift", targets: ["PusherSwift"]),
        .library(name: "PusherHTTP", targets: ["PusherHTTP"]),
        .library(name: "PusherMockServer", targets: ["PusherMockServer"]),
        .library(name: "MatrixSDK", targets: ["MatrixSDK", "LinuxCombine"]),
        .library(name: "SwiftMatrixSDK", targets: ["SwiftMatrixSDK", "LinuxCombine"]),
        .library(name: "PydioSDK", targets: ["PydioSDK"]),
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
    targets: [
        // The system's C libraries.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CLibsodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // Inline functions on vectors of bytes, which Swift cannot express well.
        .systemLibrary(name: "CVector"),

        // JSON: lazy values, a writer, and a decoder for Codable types.
        .target(name: "JSONBytes", dependencies: ["CVector"], swiftSettings: swiftSettings),

        // The network layer: pure protocol code, then the one target that does client I/O.
        .target(name: "Transport", dependencies: ["CLibcrypto", "CVector", "CZlib"], swiftSettings: swiftSettings),
        .target(
            name: "CurlTransport", dependencies: ["Realtime", "Transport", "CLibcurl", "CLinux"],
            swiftSettings: swiftSettings),

        // The way of any text into a log.
        .target(name: "PeerLog", dependencies: ["Transport", swiftLog], swiftSettings: swiftSettings),

        // Connections, events and bindings of any protocol; the Pusher protocol on top. Both are pure.
        .target(name: "Realtime", dependencies: ["JSONBytes", "Transport", "CVector"], swiftSettings: swiftSettings),
        .target(
            name: "PusherProtocol",
            dependencies: ["JSONBytes", "Realtime", "Transport", "CLibcrypto", "CLibsodium", "CVector"],
            swiftSettings: swiftSettings),

        .target(
            name: "MatrixProtocol", dependencies: ["JSONBytes", "Realtime", "Transport"], swiftSettings: swiftSettings),

        .target(name: "PydioProtocol", dependencies: ["Realtime", "Transport"], swiftSettings: swiftSettings),

        // What users import.
        .target(
            name: "PusherSwift",
            dependencies: [
                "PusherProtocol", "Realtime", "JSONBytes", "CurlTransport", "Transport", "PeerLog", swiftLog,
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["MetricsSupport"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycleSupport"])),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "PusherHTTP",
            dependencies: [
                "PusherProtocol", "JSONBytes", "CurlTransport", "Transport",
                .product(
                    name: "Tracing", package: "swift-distributed-tracing",
                    condition: .when(traits: ["DistributedTracingSupport"])),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "PusherMockServer",
            dependencies: [
                "PusherProtocol", "Transport",
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["MockServerTLS"])),
            ] + nioServer,
            swiftSettings: swiftSettings),
        .target(
            name: "MatrixSDK",
            dependencies: [
                "MatrixProtocol", "JSONBytes", "Realtime", "CurlTransport", "Transport", "PeerLog", swiftLog,
                "LinuxCombine", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swiftSettings),
        .target(name: "LinuxCombine", dependencies: ["Transport"], swiftSettings: swiftSettings),
        .target(name: "SwiftMatrixSDK", dependencies: ["MatrixSDK"], swiftSettings: swiftSettings),
        .target(
            name: "PydioSDK",
            dependencies: ["PydioProtocol", "Realtime", "CurlTransport", "Transport", "PeerLog", swiftLog],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "pusher-cli",
            dependencies: [
                "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "MatrixSDK", "MatrixProtocol",
                "PydioSDK", "JSONBytes", "Transport", swiftLog,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: swiftSettings),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: ["CLibcrypto", "CLinux", "JSONBytes", "PusherProtocol", "Realtime", "Transport", swiftLog],
            path: "Tests/TestSupport", swiftSettings: swiftSettings),
        .target(
            name: "PusherTestSupport", dependencies: ["PusherSwift", "PusherMockServer", "TestSupport", "Transport"],
            path: "Tests/PusherTestSupport", swiftSettings: swiftSettings),
        .target(
            name: "MatrixTestSupport",
            dependencies: ["MatrixProtocol", "JSONBytes", "TestSupport", "Transport"] + nioServer + [nioSSL],
            path: "Tests/MatrixTestSupport", swiftSettings: swiftSettings),
        // Without PydioProtocol: client and server check each other.
        .target(
            name: "PydioTestSupport", dependencies: ["TestSupport", "Transport", "CLibcrypto"] + nioServer + [nioSSL],
            path: "Tests/PydioTestSupport", swiftSettings: swiftSettings),
        // The same server as a process.
        .executableTarget(
            name: "pydio-mock", dependencies: ["PydioTestSupport"],
            path: "Tests/PydioMock", swiftSettings: swiftSettings),
        // Random schedules against the real machines, on a simulated clock, network and server.
        .executableTarget(
            name: "simulate",
            dependencies: [
                "CurlTransport", "MatrixProtocol", "PydioProtocol", "PusherProtocol", "Realtime", "Transport",
                "CLibcrypto",
            ],
            path: "Tests/Simulation", swiftSettings: swiftSettings),
        .testTarget(
            name: "JSONBytesTests", dependencies: ["JSONBytes", "TestSupport"], swiftSettings: swiftSettings),
        .testTarget(
            name: "SimulationTests", dependencies: ["simulate", "CurlTransport"], swiftSettings: swiftSettings),
        .testTarget(
            name: "TransportTests", dependencies: ["Realtime", "Transport", "TestSupport"], swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "CurlTransportTests",
            dependencies: ["CurlTransport", "Realtime", "Transport", "CLibcurl", "CLinux", "TestSupport"] + nioServer
                + [nioSSL],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "RealtimeTests", dependencies: ["JSONBytes", "Realtime", "Transport", "TestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PusherProtocolTests",
            dependencies: ["JSONBytes", "PusherProtocol", "Realtime", "Transport", "TestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "MatrixProtocolTests",
            dependencies: ["JSONBytes", "MatrixProtocol", "Realtime", "Transport", "TestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PydioProtocolTests", dependencies: ["PydioProtocol", "Realtime", "Transport", "TestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PydioSDKTests",
            dependencies: [
                "PydioSDK", "PydioProtocol", "PusherSwift", "CurlTransport", "Realtime", "Transport", "TestSupport",
                "PusherTestSupport", "PydioTestSupport",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "MatrixStoreTests",
            dependencies: [
                "MatrixSDK", "MatrixProtocol", "TestSupport", "MatrixKill",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swiftSettings),
        // Writes into a store, is killed, and looks at what is left: `make matrix-kill`.
        .executableTarget(
            name: "MatrixKill", dependencies: ["MatrixSDK", "MatrixProtocol", "TestSupport"], path: "Tests/MatrixKill",
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PusherSwiftTests",
            dependencies: [
                "PusherSwift", "PusherMockServer", "PusherProtocol", "Transport", "TestSupport", "PusherTestSupport",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "MatrixSDKTests",
            dependencies: [
                "MatrixSDK", "MatrixProtocol", "JSONBytes", "PusherSwift", "CurlTransport", "Transport", "TestSupport",
                "PusherTestSupport", "MatrixTestSupport", "LinuxCombine",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LinuxCombineTests", dependencies: ["LinuxCombine", "TestSupport", "Transport"],
            swiftSettings: swiftSettings),
        // A benchmark of what is not public: see Benchmarks/README.md.
        .executableTarget(
            name: "MatrixBench", dependencies: ["MatrixProtocol", "MatrixSDK"], path: "Benchmarks/Sources/MatrixBench",
            swiftSettings: swiftSettings),
        // The peer of `make conformance`.
        .executableTarget(
            name: "ConformancePeer", dependencies: ["CurlTransport", "PusherMockServer", "Transport"],
            path: "Tests/ConformancePeer", swiftSettings: swiftSettings),
        // Known bugs of older Pusher clients, which must not exist here.
        .testTarget(
            name: "RegressionTests",
            dependencies: [
                "PusherSwift", "PusherMockServer", "PusherProtocol", "JSONBytes", "Realtime", "Transport",
                "TestSupport",
                "PusherTestSupport",
            ],
            swiftSettings: swiftSettings),
        // What strangers can do; the table of SECURITY.md names these tests.
        .testTarget(
            name: "SecurityTests",
            dependencies: [
                "PusherSwift", "PusherHTTP", "PusherMockServer", "PusherProtocol", "JSONBytes", "CurlTransport",
                "Realtime", "Transport", "TestSupport", "PusherTestSupport", swiftLog,
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PusherHTTPTests",
            dependencies: [
                "PusherHTTP", "PusherMockServer", "PusherProtocol", "JSONBytes", "TestSupport",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "PusherMockServerTests",
            dependencies: ["PusherMockServer", "PusherProtocol", "TestSupport", "Transport"] + nioServer + [nioSSL],
            swiftSettings: swiftSettings),
        // Programs written for older versions of the library, as they are: in Swift 5 mode.
        .testTarget(
            name: "SourceCompatibilityTests", dependencies: ["PusherSwift", "PusherMockServer", "TestSupport"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // Against the homeservers of `make matrix-test`; skipped without them.
        .testTarget(
            name: "MatrixServerTests",
            dependencies: ["MatrixSDK", "MatrixProtocol", "CurlTransport", "Transport", "TestSupport", "pusher-cli"],
            swiftSettings: swiftSettings),
        // Programs as users write them, with the imports of their documents and no settings of ours; run against the same.
        .testTarget(
            name: "MatrixSampleTests",
            dependencies: ["MatrixSDK", "SwiftMatrixSDK", "LinuxCombine"],
            swiftSettings: [.swiftLanguageMode(.v6)] + combineByItsName),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "JSONBytes", "pusher-cli", "PusherMockServer", "PusherHTTP", "MatrixSDK", "MatrixProtocol",
                "MatrixTestSupport",
                "PydioSDK", "PydioTestSupport", "Transport", "TestSupport",
            ],
            swiftSettings: swiftSettings),
    ]
)

// What `make fuzz` lets libFuzzer loose on is played through with the corpora of Fixtures/fuzz among the tests.
let fuzzTargets: [Target.Dependency] = [
    "PusherMockServer", "PusherProtocol", "MatrixProtocol", "PydioProtocol", "JSONBytes", "Realtime", "Transport",
    "CLibcrypto",
]
if Context.environment["FUZZ"] == nil {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzTargets + ["TestSupport"], exclude: ["LibFuzzer.swift"],
            swiftSettings: swiftSettings))
} else {
    package.targets.append(
        .executableTarget(
            name: "fuzz", dependencies: fuzzTargets, path: "Tests/FuzzTests", exclude: ["CorpusTests.swift"],
            swiftSettings: swiftSettings))
}

// TEST_TARGETS="TransportTests RealtimeTests" keeps these test targets alone: what the others need is not built then.
if let chosen = Context.environment["TEST_TARGETS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}
