// swift-tools-version: 6.3
// What `make mutants` builds: the pure targets with their mutations, and the tests that need nothing else.

import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .unsafeFlags(["-suppress-warnings"]),
]

func pure(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies + ["CMutants"], swiftSettings: swiftSettings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["Basics", "TestSupport", "Transport"], swiftSettings: swiftSettings)
}

let package = Package(
    name: "Mutants",
    targets: [
        .systemLibrary(name: "CLibcrypto", pkgConfig: "libcrypto"),
        .systemLibrary(name: "CLibsodium", pkgConfig: "libsodium"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib"),
        .systemLibrary(name: "CVector"),
        .target(name: "CMutants"),

        pure("JSONBytes", ["CVector"]),
        pure("Basics", ["CLibcrypto"]),
        pure("Transport", ["Basics", "CVector", "CZlib"]),
        pure("Realtime", ["Basics", "JSONBytes", "Transport", "CVector"]),
        pure(
            "PusherProtocol",
            ["Basics", "JSONBytes", "Realtime", "Transport", "CLibcrypto", "CLibsodium", "CVector"]),
        // Its own tests need more than this package has.
        .target(
            name: "MatrixEncryption", dependencies: ["Basics", "JSONBytes", "CLibcrypto", "CLibsodium"],
            swiftSettings: swiftSettings),
        pure("MatrixProtocol", ["MatrixEncryption", "Basics", "JSONBytes", "Realtime", "Transport"]),
        pure("PydioProtocol", ["Basics", "JSONBytes", "Realtime", "Transport"]),

        // The store in memory, which the session's model needs in its tests.
        .target(
            name: "MatrixSDK",
            dependencies: ["MatrixProtocol", "MatrixEncryption", "Basics", "JSONBytes", "Transport"],
            swiftSettings: swiftSettings),
        .target(
            name: "TestSupport", dependencies: ["Basics", "JSONBytes", "PusherProtocol", "Realtime", "Transport"],
            path: "Tests/Support/TestSupport", swiftSettings: swiftSettings),
        .target(
            name: "MatrixSessionTestSupport", path: "Tests/Support/MatrixSessionTestSupport",
            swiftSettings: swiftSettings),
        tests("JSONBytesTests", ["JSONBytes"]),
        tests("BasicsTests", ["Realtime"]),
        tests("TransportTests", ["Realtime"]),
        tests("RealtimeTests", ["JSONBytes", "Realtime"]),
        tests("PusherProtocolTests", ["JSONBytes", "PusherProtocol", "Realtime"]),
        tests("MatrixProtocolTests", ["JSONBytes", "MatrixProtocol", "Realtime"]),
        tests("PydioProtocolTests", ["PydioProtocol", "Realtime"]),
        tests("MatrixSDKTests", ["JSONBytes", "MatrixSDK", "MatrixProtocol", "MatrixSessionTestSupport"]),
        tests(
            "FuzzTests",
            [
                "JSONBytes", "PusherProtocol", "MatrixProtocol", "MatrixEncryption", "PydioProtocol", "Realtime",
                "CLibcrypto",
            ]),
    ]
)
