// swift-tools-version: 6.2

import PackageDescription

let pusherSwift: Target.Dependency = .product(name: "PusherSwift", package: "PusherSwift")

let mockServer: Target.Dependency = .product(name: "PusherMockServer", package: "PusherSwift")

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "PusherSwift", path: "..")],
    targets: [
        .executableTarget(name: "DispatchBench", dependencies: [pusherSwift]),
        .executableTarget(name: "MemoryBench", dependencies: [pusherSwift]),
        .executableTarget(name: "ReconnectBench", dependencies: [pusherSwift]),
        .target(name: "SoakSupport"),
        .executableTarget(name: "SoakServer", dependencies: [mockServer, "SoakSupport"]),
        .executableTarget(name: "SoakClients", dependencies: [pusherSwift, "SoakSupport"]),
    ]
)
