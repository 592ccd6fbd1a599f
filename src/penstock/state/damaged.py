DAMAGED = "store-damaged"


def set_aside(folder):
    return folder
