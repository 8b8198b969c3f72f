import ArgumentParser
import PusherHTTP

/// The attributes to request of channels.
struct InfoOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Attributes to ask for: user_count, subscription_count, cache. May be repeated, or joined by commas.",
            valueName: "attribute"),
        completion: .list(PusherHTTPClient.ChannelAttribute.allCases.map(\.rawValue)))
    var info: [String] = []

    func validate() throws {
        _ = try attributes()
    }

    func attributes() throws -> Set<PusherHTTPClient.ChannelAttribute> {
        var attributes: Set<PusherHTTPClient.ChannelAttribute> = []
        for name in info.flatMap({ $0.split(separator: ",") }) {
            guard let attribute = PusherHTTPClient.ChannelAttribute(rawValue: String(name)) else {
                throw ValidationError("--info takes user_count, subscription_count and cache, not \(name).")
            }
            attributes.insert(attribute)
        }
        return attributes
    }
}
