/// One of the 64 emoji that two people compare.
package struct SASEmoji: Sendable, Equatable {
    /// The index, 0…63. Clients differ in symbols and names, but not in this.
    package let index: Int
    package let symbol: String
    /// The English name. Terminals may lack the symbol, so show both.
    package let name: String

    package static let all = texts.split(separator: "|").enumerated().map { index, text in
        let parts = text.split(separator: " ", maxSplits: 1)
        return SASEmoji(index: index, symbol: String(parts[0]), name: String(parts[1]))
    }

    private static let texts = """
        🐶 Dog|🐱 Cat|🦁 Lion|🐎 Horse|🦄 Unicorn|🐷 Pig|🐘 Elephant|🐰 Rabbit|🐼 Panda|🐓 Rooster|🐧 Penguin|🐢 Turtle|\
        🐟 Fish|🐙 Octopus|🦋 Butterfly|🌷 Flower|🌳 Tree|🌵 Cactus|🍄 Mushroom|🌏 Globe|🌙 Moon|☁️ Cloud|🔥 Fire|\
        🍌 Banana|🍎 Apple|🍓 Strawberry|🌽 Corn|🍕 Pizza|🎂 Cake|❤️ Heart|😀 Smiley|🤖 Robot|🎩 Hat|👓 Glasses|\
        🔧 Spanner|🎅 Santa|👍 Thumbs Up|☂️ Umbrella|⌛ Hourglass|⏰ Clock|🎁 Gift|💡 Light Bulb|📕 Book|✏️ Pencil|\
        📎 Paperclip|✂️ Scissors|🔒 Lock|🔑 Key|🔨 Hammer|☎️ Telephone|🏁 Flag|🚂 Train|🚲 Bicycle|✈️ Aeroplane|\
        🚀 Rocket|🏆 Trophy|⚽ Ball|🎸 Guitar|🎺 Trumpet|🔔 Bell|⚓ Anchor|🎧 Headphones|📁 Folder|📌 Pin
        """
}
