// swift-tools-version: 6.3

import PackageDescription

let pusherSwift: Target.Dependency = .product(name: "PusherSwift", package: "PusherSwift")

let matrix: Target.Dependency = .product(name: "MatrixSDK", package: "PusherSwift")

let eventRelay: Target.Dependency = .product(name: "EventRelay", package: "PusherSwift")

let mockServer: Target.Dependency = .product(name: "PusherMockServer", package: "PusherSwift")

let package = Package(
    name: "Benchmarks",
    // As in `make demo`, which shares what is compiled.
    dependencies: [.package(name: "PusherSwift", path: "../..", traits: ["CommandLineTool"])],
    targets: [
        .target(name: "Measuring", dependencies: [pusherSwift]),
        .executableTarget(name: "DispatchBench", dependencies: [pusherSwift, "Measuring"]),
        .executableTarget(name: "LatencyBench", dependencies: [pusherSwift, "Measuring"]),
        .executableTarget(name: "SubscribeBench", dependencies: [pusherSwift, "Measuring"]),
        .executableTarget(name: "ConnectionBench", dependencies: [pusherSwift, "Measuring"]),
        .executableTarget(name: "ReconnectBench", dependencies: [pusherSwift, "Measuring"]),
        .executableTarget(name: "ConsumerBench", dependencies: [eventRelay, "Measuring"]),
        .executableTarget(name: "MatrixStoreBench", dependencies: [matrix, "Measuring"]),
        .target(name: "SoakSupport"),
        .executableTarget(name: "SoakServer", dependencies: [mockServer, "SoakSupport", "Measuring"]),
        .executableTarget(name: "SoakClients", dependencies: [pusherSwift, "SoakSupport", "Measuring"]),
    ]
)
