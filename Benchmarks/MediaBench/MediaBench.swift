@main struct MediaBench { static func main() {} }
