// swift-tools-version: 6.3

import PackageDescription

let names = ["QuickStartCallbacks", "QuickStartAsync", "Presence", "CustomAuthorizer"]

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "PusherSwift", path: "..")],
    targets: names.map { name in
        .executableTarget(name: name, dependencies: [.product(name: "PusherSwift", package: "PusherSwift")])
    }
)
