func article(options: PusherClientOptions) {
    var options = options
    // BLOCKS
}
