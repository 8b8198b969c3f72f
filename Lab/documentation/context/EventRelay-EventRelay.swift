import PusherSwift

struct Price: Decodable, Sendable {}
func store(_ price: Price) async throws {}

func article() async throws {
    // BLOCKS
}
