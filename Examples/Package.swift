// swift-tools-version: 6.3

import PackageDescription

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "PusherSwift", path: "..")],
    targets: examples + servers + readme
)

var examples: [Target] {
    [
        example("QuickStartAsync", ["ExampleServer", product("PusherSwift")]),
        example("QuickStartCallbacks", ["ExampleServer", product("PusherSwift")]),
        example("Presence", ["ExampleServer", product("PusherSwift")]),
        example(
            "CustomAuthorizer", ["ExampleServer", "ScriptedServer", product("PusherSwift"), product("PusherHTTP")]),
        example("Publish", ["ExampleServer", product("PusherHTTP")]),
        example("Matrix", ["ScriptedServer", product("MatrixSDK")]),
        example("Pydio", ["ScriptedServer", product("PydioSDK")]),
    ]
}

/// The embedded servers that the examples start unless you name a real one.
var servers: [Target] {
    [
        .target(name: "ExampleServer", dependencies: [product("PusherSwift"), product("PusherMockServer")]),
        .target(name: "ScriptedServer"),
    ]
}

/// The programs that README.md shows; `make -C Lab examples` checks that it does. Each imports one library alone.
var readme: [Target] {
    ["PusherSwift", "PusherHTTP", "PusherMockServer", "MatrixSDK", "PydioSDK"].map { library in
        .executableTarget(name: "Readme\(library)", dependencies: [product(library)], path: "Readme/\(library)")
    }
}

func example(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies)
}

func product(_ name: String) -> Target.Dependency {
    .product(name: name, package: "PusherSwift")
}
