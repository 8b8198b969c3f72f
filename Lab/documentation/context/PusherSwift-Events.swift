struct Price: Decodable, Sendable {}

func article(channel: PusherChannel) async {
    // BLOCKS
}
