// swift-tools-version: 6.3
// What `make -C Lab mutants` builds: the pure targets with their mutations, and the tests that need nothing else.

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
    library(name, dependencies + ["CMutants"])
}

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(room(name))/\(name)", swiftSettings: swiftSettings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["Basics", "TestSupport", "Transport"],
        path: "Tests/\(room(String(name.dropLast(5))))/\(name)", swiftSettings: swiftSettings)
}

func room(_ name: String) -> String {
    switch name {
    case "PusherProtocol": "Pusher"
    case "MatrixProtocol", "MatrixEncryption", "MatrixSDK": "Matrix"
    case "PydioProtocol": "Pydio"
    case "Fuzz": "Lab"
    default: "Core"
    }
}

func systemLibrary(_ name: String, pkgConfig: String? = nil) -> Target {
    .systemLibrary(name: name, path: "Sources/Core/C/" + name, pkgConfig: pkgConfig)
}

let package = Package(
    name: "Mutants",
    targets: [
        systemLibrary("CLibcrypto", pkgConfig: "libcrypto"),
        systemLibrary("CLibsodium", pkgConfig: "libsodium"),
        systemLibrary("CZlib", pkgConfig: "zlib"),
        systemLibrary("CVector"),
        systemLibrary("CLinux"),
        .target(name: "CMutants"),

        pure("JSONBytes", ["CVector"]),
        pure("Basics", ["CLibcrypto"]),
        pure("Transport", ["Basics", "CVector", "CZlib"]),
        pure("Realtime", ["Basics", "JSONBytes", "Transport", "CVector"]),
        pure(
            "PusherProtocol",
            ["Basics", "JSONBytes", "Realtime", "Transport", "CLibcrypto", "CLibsodium", "CVector"]),
        // Its own tests need more than this package has.
        library("MatrixEncryption", ["Basics", "JSONBytes", "CLibcrypto", "CLibsodium"]),
        pure("MatrixProtocol", ["MatrixEncryption", "Basics", "JSONBytes", "Realtime", "Transport"]),
        pure("PydioProtocol", ["Basics", "JSONBytes", "Realtime", "Transport"]),

        // The store in memory, which the session's model needs in its tests.
        library("MatrixSDK", ["MatrixProtocol", "MatrixEncryption", "Basics", "JSONBytes", "Transport"]),
        .target(
            name: "TestSupport",
            dependencies: ["Basics", "CLinux", "JSONBytes", "Realtime", "Transport"],
            path: "Tests/Core/TestSupport", swiftSettings: swiftSettings),
        .target(
            name: "PusherProtocolTestSupport",
            dependencies: ["Basics", "JSONBytes", "PusherProtocol", "Realtime", "TestSupport", "Transport"],
            path: "Tests/Pusher/PusherProtocolTestSupport", swiftSettings: swiftSettings),
        .target(
            name: "MatrixSessionTestSupport", path: "Tests/Matrix/MatrixSessionTestSupport",
            swiftSettings: swiftSettings),
        tests("JSONBytesTests", ["JSONBytes"]),
        tests("BasicsTests", ["Realtime"]),
        tests("TransportTests", ["Realtime"]),
        tests("RealtimeTests", ["JSONBytes", "Realtime"]),
        tests("PusherProtocolTests", ["JSONBytes", "PusherProtocol", "PusherProtocolTestSupport", "Realtime"]),
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
