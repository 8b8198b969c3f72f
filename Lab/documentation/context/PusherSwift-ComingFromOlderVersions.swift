func article(pusher: Pusher) {
    // BLOCKS
}
