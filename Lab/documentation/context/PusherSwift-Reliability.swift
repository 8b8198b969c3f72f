actor Store { func reload(since time: Date) {} }

func article(orders: PusherChannel, store: Store) {
    // BLOCKS
}
